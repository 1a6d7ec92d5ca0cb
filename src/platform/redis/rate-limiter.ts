import { Injectable } from '@nestjs/common';
import { AppError } from '../errors/app-error.js';
import type { TenantId } from '../ids/ids.js';
import { RedisKeys } from './keys.js';
import { loadScript, RedisScripts } from './redis-scripts.js';

const WINDOW = loadScript(__dirname, 'rate_window');
const ONCE = loadScript(__dirname, 'rate_once');
const GIVE_BACK = loadScript(__dirname, 'rate_give_back');

/** A use that was counted. */
export interface Use {
  /** Time until its window ends, ms. */
  readonly leftMs: number;
}

/** Limits that all nodes share. Count and expiry are one script, so no counter can be left without an end. */
@Injectable()
export class RateLimiter {
  constructor(
    private readonly keys: RedisKeys,
    private readonly scripts: RedisScripts,
  ) {}

  /**
   * Counts one use in a fixed window.
   * @throws AppError RATE_LIMITED with the time until the window ends; RedisUnavailable when it cannot be counted
   */
  async take(tenant: TenantId, what: string, subject: string, most: number, windowSeconds: number): Promise<Use> {
    const key = this.keys.of('rate', { t: tenant, what, subject });
    const [taken, leftMs] = (await this.scripts.run(WINDOW, [key], [most, windowSeconds])) as [number, number];
    if (taken !== 1) throw new AppError('RATE_LIMITED', { retryAfterMs: leftMs });
    return { leftMs };
  }

  /** Takes a use back that `take` counted, while its window lasts. @throws RedisUnavailable */
  async giveBack(tenant: TenantId, what: string, subject: string, { leftMs }: Use): Promise<void> {
    const key = this.keys.of('rate', { t: tenant, what, subject });
    await this.scripts.run(GIVE_BACK, [key], [leftMs]);
  }

  /**
   * As `take`, but the same use, by its name, counts once in its window, however often it is tried.
   * @throws as `take`
   */
  async takeOnce(
    tenant: TenantId,
    what: string,
    subject: string,
    use: string,
    most: number,
    windowSeconds: number,
  ): Promise<void> {
    const key = this.keys.of('rate', { t: tenant, what, subject });
    const [taken, leftMs] = (await this.scripts.run(ONCE, [key], [use, most, windowSeconds])) as [number, number];
    if (taken !== 1) throw new AppError('RATE_LIMITED', { retryAfterMs: leftMs });
  }
}
