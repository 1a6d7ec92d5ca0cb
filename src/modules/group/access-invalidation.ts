import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { TenantId, Topic } from '../../platform/ids/ids.js';
import { Logger } from '../../platform/observe/logger.js';
import { GroupAccessCache } from './group.redis.js';

const QUICK_TRIES = 3;
const QUICK_PAUSE_MS = 40;
const BACKGROUND_PAUSE_MS = 500;
/** Groups whose removal is still owed. Above it the oldest is given up: its records end within their 300 s. */
const MAX_OWED = 10_000;

/**
 * Removes a group's access records after a change was committed, for certain: at once, or as soon as Redis answers again.
 * Until then `acl_version` keeps old records from letting a message in.
 */
@Injectable()
export class AccessInvalidation implements OnApplicationShutdown {
  private readonly owed = new Map<string, { readonly tenant: TenantId; readonly topic: Topic }>();
  private timer?: NodeJS.Timeout;
  private stopped = false;

  constructor(
    private readonly cache: GroupAccessCache,
    private readonly log: Logger,
  ) {}

  /** @returns whether the records are gone now; when not, they go later by themselves. Never throws. */
  async invalidate(tenant: TenantId, topic: Topic): Promise<boolean> {
    for (let attempt = 1; attempt <= QUICK_TRIES; attempt += 1) {
      try {
        await this.cache.invalidate(tenant, topic);
        return true;
      } catch (error) {
        if (attempt === QUICK_TRIES) {
          this.log.warn({ tenant, topic, error: (error as Error).message }, 'access records could not be removed yet');
        } else await new Promise((resolve) => setTimeout(resolve, QUICK_PAUSE_MS * attempt));
      }
    }
    this.owe(tenant, topic);
    return false;
  }

  /** Number of groups whose removal is still owed. */
  get owedCount(): number {
    return this.owed.size;
  }

  onApplicationShutdown(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  private owe(tenant: TenantId, topic: Topic): void {
    if (this.owed.size >= MAX_OWED) this.owed.delete(this.owed.keys().next().value as string);
    this.owed.set(`${tenant}/${topic}`, { tenant, topic });
    this.schedule();
  }

  private schedule(): void {
    if (this.timer || this.stopped) return;
    this.timer = setTimeout(() => void this.payBack(), BACKGROUND_PAUSE_MS).unref();
  }

  private async payBack(): Promise<void> {
    try {
      for (const [key, entry] of [...this.owed]) {
        await this.cache.invalidate(entry.tenant, entry.topic);
        if (this.owed.get(key) === entry) this.owed.delete(key);
      }
    } catch {
      // Still away: the next round tries again.
    }
    this.timer = undefined;
    if (this.owed.size > 0) this.schedule();
  }
}
