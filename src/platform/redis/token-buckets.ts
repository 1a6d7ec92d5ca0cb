import { Injectable } from '@nestjs/common';
import { AppError } from '../errors/app-error.js';
import type { TenantId } from '../ids/ids.js';
import { RedisKeys } from './keys.js';
import { loadScript, RedisScripts } from './redis-scripts.js';

const BUCKET = loadScript(__dirname, 'token_bucket');

/** A budget: so many a second for ever, and so many at once after a rest. */
export interface Budget {
  readonly perSecond: number;
  readonly burst: number;
}

export type Grant =
  | { readonly granted: number; readonly waitMs: 0 }
  /** `waitMs`: until the fewest that are of use are there. */
  | { readonly granted: 0; readonly waitMs: number };

/**
 * Budgets that all nodes share, by the clock of Redis. Tokens and expiry are one script: no bucket can be left without an
 * end, and a full bucket is no key at all.
 */
@Injectable()
export class TokenBuckets {
  constructor(
    private readonly keys: RedisKeys,
    private readonly scripts: RedisScripts,
  ) {}

  /**
   * Takes `cost` tokens.
   * @throws AppError RATE_LIMITED with the time until they are there; RedisUnavailable when it cannot be known
   */
  async take(tenant: TenantId, what: string, subject: string, budget: Budget, cost = 1): Promise<void> {
    const { granted, waitMs } = await this.takeUpTo(tenant, what, subject, budget, cost, cost);
    if (granted === 0) throw new AppError('RATE_LIMITED', { retryAfterMs: waitMs });
  }

  /** Takes up to `most` tokens, and none if there are fewer than `least`. @throws RedisUnavailable */
  async takeUpTo(
    tenant: TenantId,
    what: string,
    subject: string,
    budget: Budget,
    most: number,
    least = 1,
  ): Promise<Grant> {
    const key = this.keys.of('rate', { t: tenant, what, subject });
    const reply = await this.scripts.run(BUCKET, [key], [budget.perSecond, budget.burst, most, least]);
    const [granted, waitMs] = reply as [number, number];
    return granted > 0 ? { granted, waitMs: 0 } : { granted: 0, waitMs };
  }
}
