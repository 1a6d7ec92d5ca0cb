import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { TenantId, UserId } from '../../platform/ids/ids.js';
import { Logger } from '../../platform/observe/logger.js';
import { UserService } from '../user/user.service.js';

const FLUSH_AFTER_MS = 2_000;
const BATCH = 500;
/** Users of a tenant whose database is away. Above it what comes is dropped: Redis and the next time know better. */
const MAX_WAITING = 50_000;

/** When users were last seen, written to MySQL behind, many at once. */
@Injectable()
export class LastSeenWriter implements OnApplicationShutdown {
  private readonly waiting = new Map<TenantId, Map<UserId, number>>();
  private timer?: NodeJS.Timeout;
  private flushing?: Promise<void>;

  constructor(
    private readonly users: UserService,
    private readonly log: Logger,
  ) {}

  /** @param seenMs milliseconds since the epoch; 0 = not known, nothing is written */
  add(tenant: TenantId, uid: UserId, seenMs: number): void {
    if (seenMs === 0) return;
    const rows = this.waiting.get(tenant) ?? new Map<UserId, number>();
    this.waiting.set(tenant, rows);
    if (rows.size >= MAX_WAITING && !rows.has(uid)) return;
    rows.set(uid, Math.max(seenMs, rows.get(uid) ?? 0));
    this.schedule();
  }

  /** Writes what waits now, once. */
  async flush(): Promise<void> {
    await this.flushing;
    this.flushing = this.write().finally(() => (this.flushing = undefined));
    await this.flushing;
  }

  onApplicationShutdown(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private schedule(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      void this.flush().then(() => this.waiting.size > 0 && this.schedule());
    }, FLUSH_AFTER_MS).unref();
  }

  private async write(): Promise<void> {
    for (const [tenant, rows] of [...this.waiting]) {
      const all = [...rows];
      try {
        for (let first = 0; first < all.length; first += BATCH) {
          const batch = all.slice(first, first + BATCH);
          await this.users.seen(tenant, new Map(batch));
          // Who has just left often comes back soon.
          await Promise.all(batch.map(([uid]) => this.users.keepProfile(tenant, uid)));
          // What came meanwhile for the same user stays.
          for (const [uid, seenMs] of batch) if (rows.get(uid) === seenMs) rows.delete(uid);
        }
        if (rows.size === 0) this.waiting.delete(tenant);
      } catch (error) {
        this.log.warn({ tenant, users: rows.size, error: (error as Error).message }, 'last seen is written later');
      }
    }
  }
}
