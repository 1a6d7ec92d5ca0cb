import { Injectable } from '@nestjs/common';
import type { TenantId } from '../../platform/ids/ids.js';
import { Logger } from '../../platform/observe/logger.js';
import { Metrics } from '../../platform/observe/metrics.js';
import { FanoutService } from './fanout.service.js';
import { GroupMessageStore } from './group-message.store.js';
import type { PendingRow } from './message-row.js';

/** What a number holds after its tombstone was tried; `id` when it is the message itself. */
export type Tombstone = 'void' | 'taken' | 'fenced' | 'unknown' | { readonly id: string };

/** Is a row with that number known to be stored, so that it may leave its place in flight? */
export const isOver = (result: Tombstone): boolean =>
  result === 'void' || result === 'taken' || typeof result === 'object';

const LANES = 2;
const MAX_WAITING = 50;

/** Numbers that were given out and will not be used. */
@Injectable()
export class TombstoneService {
  private readonly tombstones;
  private writing = 0;
  /** As many lanes as connections that tombstones may hold. */
  private readonly turns: Promise<unknown>[] = Array.from({ length: LANES }, () => Promise.resolve());

  constructor(
    private readonly store: GroupMessageStore,
    private readonly fanout: FanoutService,
    private readonly log: Logger,
    metrics: Metrics,
  ) {
    this.tombstones = metrics.counter('im_tombstones_total', 'Numbers given out and not used', ['result']);
  }

  /** Writes a void row at the number; when that cannot be done ("unknown") its entry has to stay in flight. */
  async write(tenant: TenantId, row: PendingRow): Promise<Tombstone> {
    // A flush must always find a connection: what cannot be written soon is left to the deadline.
    if (this.writing >= MAX_WAITING) return 'unknown';
    this.writing += 1;
    const lane = this.writing % LANES;
    const written = this.turns[lane].then(() => this.writeNow(tenant, row));
    this.turns[lane] = written;
    try {
      return await written;
    } finally {
      this.writing -= 1;
    }
  }

  private async writeNow(tenant: TenantId, row: PendingRow): Promise<Tombstone> {
    try {
      const outcome = await this.store.tombstone(tenant, row);
      this.tombstones.inc({ result: outcome.kind });
      if (outcome.kind === 'stored') return { id: outcome.id };
      if (outcome.kind === 'void') this.fanout.tombstone(tenant, row.topic, row.seq);
      return outcome.kind;
    } catch (error) {
      this.tombstones.inc({ result: 'unknown' });
      this.log.warn(
        { tenant, topic: row.topic, seq: row.seq, error: (error as Error).message },
        'a number stays in flight',
      );
      return 'unknown';
    }
  }
}
