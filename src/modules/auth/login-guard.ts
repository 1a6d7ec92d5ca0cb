import { Injectable } from '@nestjs/common';
import { AppError } from '../../platform/errors/app-error.js';
import { addressGroup } from '../../platform/http/client-address.js';
import type { TenantId } from '../../platform/ids/ids.js';
import { Logger } from '../../platform/observe/logger.js';
import { Metrics } from '../../platform/observe/metrics.js';
import { TenantMetrics } from '../../platform/observe/tenant-metrics.js';
import { failClosed } from '../../platform/redis/fail-closed.js';
import { LoginTriesRedis, type Attackers, type LoginSubject } from './login-tries.redis.js';

/**
 * Slows down who guesses passwords: a growing delay for one account from one address. It never locks an account, since a
 * stranger could then lock out its owner. A try that cannot be counted is not made.
 */
@Injectable()
export class LoginGuard {
  private readonly outcomes;

  constructor(
    private readonly tries: LoginTriesRedis,
    private readonly log: Logger,
    private readonly ofTenants: TenantMetrics,
    metrics: Metrics,
  ) {
    this.outcomes = metrics.counter('im_logins_total', 'Log-ins by password, by outcome', ['result']);
  }

  /** Counts a log-in that was asked for a verified code. */
  proofAsked(tenant: TenantId): void {
    this.count(tenant, 'proof_asked');
  }

  /**
   * Runs `check` if this account may be tried from this address now.
   * @param check answers null when account or password is wrong; is told from how many other places this account is tried
   * @returns what `check` answered, null included
   * @throws AppError RATE_LIMITED with the time to wait; SHORT_STATE_UNAVAILABLE; whatever `check` throws
   */
  async guarded<T>(
    { tenant, account, address }: LoginSubject,
    check: (attackers: Attackers) => Promise<T | null>,
  ): Promise<T | null> {
    const subject = { tenant, account, address: addressGroup(address) };
    const answer = await failClosed(this.tries.begin(subject));
    if (answer.outcome === 'wait') {
      this.count(tenant, 'delayed');
      throw new AppError('RATE_LIMITED', {
        message: 'Too many wrong log-ins of this account from here. Wait as long as told and try again.',
        retryAfterMs: answer.waitMs,
      });
    }
    const found = await check(answer.attackers);
    this.count(tenant, found === null ? 'wrong' : 'right');
    // The try is counted already; what follows only sharpens the picture, and must not turn a right password away.
    const noted = found === null ? this.tries.failed(subject) : this.tries.succeeded(subject);
    await noted.catch((error: Error) => this.log.warn({ tenant, error: error.message }, 'a log-in was not noted'));
    return found;
  }

  private count(tenant: TenantId, result: 'right' | 'wrong' | 'delayed' | 'proof_asked'): void {
    this.outcomes.inc({ result });
    this.ofTenants.loggedIn(tenant, result);
  }
}
