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

/** Connections that one tenant's tombstones may hold at once: a flush must always find one. */
const LANES = 2;
const MAX_WAITING = 50;
/** After a tombstone that could not be written, those behind it are not tried for so long. */
const PAUSE_MS = 1_000;

/** One tenant's tombstones that are being written. */
class Lanes {
  waiting = 0;
  pausedUntilMs = 0;
  private next = 0;
  private readonly ends: Promise<unknown>[] = Array.from({ length: LANES }, () => Promise.resolve());

  run<T>(work: () => Promise<T>): Promise<T> {
    this.next = (this.next + 1) % LANES;
    const result = this.ends[this.next].then(work);
    this.ends[this.next] = result.catch(() => undefined);
    return result;
  }
}

/** Numbers that were given out and will not be used. */
@Injectable()
export class TombstoneService {
  private readonly tombstones;
  private readonly tenants = new Map<TenantId, Lanes>();

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
    let lanes = this.tenants.get(tenant);
    if (!lanes) this.tenants.set(tenant, (lanes = new Lanes()));
    const own = lanes;
    if (own.waiting >= MAX_WAITING) return 'unknown';
    own.waiting += 1;
    try {
      return await own.run(async () => {
        if (Date.now() < own.pausedUntilMs) return 'unknown';
        const result = await this.writeNow(tenant, row);
        if (result === 'unknown') own.pausedUntilMs = Date.now() + PAUSE_MS;
        return result;
      });
    } finally {
      own.waiting -= 1;
      if (own.waiting === 0) this.tenants.delete(tenant);
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
