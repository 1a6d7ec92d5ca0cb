import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Cluster } from 'ioredis';
import { Logger } from '../observe/logger.js';
import { RedisScripts } from './redis-scripts.js';

const QUICK_TRIES = 3;
const QUICK_PAUSE_MS = 40;
const BACKGROUND_PAUSE_MS = 500;
/** Keys of one UNLINK. */
const BATCH = 500;
/** Keys whose removal is still owed. Above it the oldest are given up: what they hold ends with its time to live. */
const MAX_OWED = 50_000;

/**
 * Removes cached copies after a change was committed, for certain: at once, or as soon as Redis answers again. A node that
 * ends while it owes removals leaves old copies behind until their time to live ends.
 */
@Injectable()
export class KeyRemovals implements OnApplicationShutdown {
  /** Each owed key with a mark of its last call: a removal that was on its way when the key was owed anew does not count. */
  private readonly owed = new Map<string, symbol>();
  private timer?: NodeJS.Timeout;
  private stopped = false;

  constructor(
    private readonly scripts: RedisScripts,
    private readonly log: Logger,
  ) {}

  /** @returns whether the keys are gone now; when not, they go later by themselves. Never throws. */
  async remove(keys: readonly string[]): Promise<boolean> {
    for (let attempt = 1; attempt <= QUICK_TRIES; attempt += 1) {
      try {
        await this.unlink(keys);
        return true;
      } catch (error) {
        if (attempt === QUICK_TRIES) {
          this.log.warn({ keys: keys.length, error: (error as Error).message }, 'cached copies not removed yet');
        } else await new Promise((resolve) => setTimeout(resolve, QUICK_PAUSE_MS * attempt));
      }
    }
    for (const key of keys) this.owe(key);
    this.schedule();
    return false;
  }

  /** Number of keys whose removal is still owed. */
  get owedCount(): number {
    return this.owed.size;
  }

  onApplicationShutdown(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  private async unlink(keys: readonly string[]): Promise<void> {
    for (let start = 0; start < keys.length; start += BATCH) {
      const batch = keys.slice(start, start + BATCH);
      await this.scripts.command('cache_invalidate', async (client) => {
        // Keys of different slots cannot go in one command.
        if (client instanceof Cluster) await Promise.all(batch.map((key) => client.unlink(key)));
        else await client.unlink(...batch);
      });
    }
  }

  private owe(key: string): void {
    if (this.owed.size >= MAX_OWED) this.owed.delete(this.owed.keys().next().value as string);
    this.owed.set(key, Symbol());
  }

  private schedule(): void {
    if (this.timer || this.stopped || this.owed.size === 0) return;
    this.timer = setTimeout(() => void this.payBack(), BACKGROUND_PAUSE_MS).unref();
  }

  private async payBack(): Promise<void> {
    try {
      const entries = [...this.owed];
      for (let start = 0; start < entries.length; start += BATCH) {
        const batch = entries.slice(start, start + BATCH);
        await this.unlink(batch.map(([key]) => key));
        for (const [key, mark] of batch) if (this.owed.get(key) === mark) this.owed.delete(key);
      }
    } catch {
      // Still away: the next round tries again.
    }
    this.timer = undefined;
    this.schedule();
  }
}
