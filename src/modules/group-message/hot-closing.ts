import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { Seq, TenantId, Topic } from '../../platform/ids/ids.js';
import { Logger } from '../../platform/observe/logger.js';
import { ChangeStore } from './change.store.js';
import { FanoutService } from './fanout.service.js';
import { HotRedis } from './hot.redis.js';
import { messageOf, type MessageRow } from './message-row.js';

interface OpenChange {
  readonly tenant: TenantId;
  readonly topic: Topic;
  readonly seq: Seq;
  readonly token: string;
}

interface Owed extends OpenChange {
  /** It may have been committed and nobody was told: repeating the call finds it done, and tells nobody either. */
  readonly isUntold: boolean;
}

const RETRY_MS = 500;
/** Above it the oldest is given up: its mark, if Redis still has it, drops the set. */
const MAX_OWED = 10_000;

/**
 * Ends open changes of the hot set for certain. A close that Redis did not take is owed: the mark may be lost with its
 * server, and then nothing else would ever remove an old text that a reader filled in before the commit. What is owed is
 * paid with the row as it then is, read under its lock, which waits for a transaction of unknown outcome.
 */
@Injectable()
export class HotClosing implements OnApplicationShutdown {
  private readonly owed = new Map<string, Owed>();
  private timer?: NodeJS.Timeout;
  private stopped = false;

  constructor(
    private readonly store: ChangeStore,
    private readonly hot: HotRedis,
    private readonly fanout: FanoutService,
    private readonly log: Logger,
  ) {}

  /** @param row as it was committed; null = known not to be changed. @returns false when the close is owed */
  async close(change: OpenChange, row: MessageRow | null): Promise<boolean> {
    const { tenant, topic, seq, token } = change;
    try {
      await this.hot.close(tenant, topic, seq, token, row && messageOf(topic, row));
      return true;
    } catch (error) {
      this.log.warn({ tenant, topic, seq, error: (error as Error).message }, 'the close of a change is owed');
      this.owe({ ...change, isUntold: false });
      return false;
    }
  }

  /** For a change whose outcome is not known: when it is, the members are told to ask. */
  follow(change: OpenChange): void {
    this.owe({ ...change, isUntold: true });
  }

  onApplicationShutdown(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  private owe(change: Owed): void {
    if (this.owed.size >= MAX_OWED) this.owed.delete(this.owed.keys().next().value!);
    this.owed.set(change.token, change);
    this.schedule();
  }

  private schedule(): void {
    if (this.timer || this.stopped || this.owed.size === 0) return;
    this.timer = setTimeout(() => void this.payBack(), RETRY_MS).unref();
  }

  private async payBack(): Promise<void> {
    for (const change of [...this.owed.values()]) {
      const { tenant, topic, seq, token } = change;
      try {
        const row = await this.store.transaction(tenant, (tx) => this.store.lock(tx, topic, seq));
        await this.hot.close(tenant, topic, seq, token, row && messageOf(topic, row));
        this.owed.delete(token);
        if (change.isUntold) this.fanout.resync(tenant, topic);
      } catch {
        // Still away: the next round tries again.
      }
    }
    this.timer = undefined;
    this.schedule();
  }
}
