import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { ENV, type Env } from '../../platform/env/env.js';
import { AppError } from '../../platform/errors/app-error.js';
import { addressGroup } from '../../platform/http/client-address.js';
import type { AddressBudget, UserBudget } from '../../platform/http/spends.js';
import { asTenantId, type Actor } from '../../platform/ids/ids.js';
import { Metrics } from '../../platform/observe/metrics.js';
import { failClosed } from '../../platform/redis/fail-closed.js';
import { LeasedBuckets } from '../../platform/redis/leased-buckets.js';
import { TokenBuckets, type Budget } from '../../platform/redis/token-buckets.js';
import { SocketRouter } from '../../platform/socket/socket-router.js';
import { TenantService } from '../tenant/tenant.service.js';
import type { LimitName } from './limits.types.js';

/** Before anybody has said who he is there is no tenant either. */
const PLATFORM = asTenantId('0');

/** How much may be asked for. Refusals are RATE_LIMITED with the time to wait, at every door alike. */
@Injectable()
export class LimitsService implements OnModuleInit {
  private readonly ofUser: Record<UserBudget, Budget>;
  private readonly perAddress: Budget;
  private readonly unauthenticated: Budget;
  private readonly handshakes: Budget;
  private readonly refusals;

  constructor(
    @Inject(ENV) env: Env,
    private readonly tenants: TenantService,
    private readonly leased: LeasedBuckets,
    private readonly buckets: TokenBuckets,
    private readonly router: SocketRouter,
    metrics: Metrics,
  ) {
    this.ofUser = {
      send: { perSecond: env.LIMIT_SEND_PER_SECOND, burst: env.LIMIT_SEND_BURST },
      read: { perSecond: env.LIMIT_READ_PER_SECOND, burst: env.LIMIT_READ_BURST },
      write: { perSecond: env.LIMIT_WRITE_PER_SECOND, burst: env.LIMIT_WRITE_BURST },
    };
    this.perAddress = { perSecond: env.LIMIT_AUTH_PER_MINUTE / 60, burst: env.LIMIT_AUTH_PER_MINUTE };
    this.unauthenticated = {
      perSecond: env.LIMIT_UNAUTHENTICATED_PER_MINUTE / 60,
      burst: env.LIMIT_UNAUTHENTICATED_PER_MINUTE,
    };
    this.handshakes = { perSecond: env.LIMIT_HANDSHAKE_PER_SECOND, burst: env.LIMIT_HANDSHAKE_BURST };
    this.refusals = metrics.counter('im_limit_refusals_total', 'Calls refused because a budget was used up', ['limit']);
    const local = metrics.counter('im_limit_local_total', 'Chunks of budgets given out without Redis', ['limit']);
    leased.whenLocal((limit) => local.inc({ limit }));
  }

  onModuleInit(): void {
    this.router.limit((client, budget) => this.spend(client.data.actor, budget));
  }

  /**
   * Spends one of a user's budget, which all of his devices and nodes share. Nearly always without a promise and without
   * Redis; while Redis is away each node counts for itself.
   * @throws AppError RATE_LIMITED, TENANT_DISABLED
   */
  spend({ tenant, uid }: Actor, name: UserBudget): void | Promise<void> {
    const budget = this.tenants.get(tenant).settings.limits?.[name] ?? this.ofUser[name];
    return this.counted(name, () => this.leased.take(tenant, name, uid, budget));
  }

  /**
   * Spends one of an address's budget. Security steps (`auth`, `enterprise`) are refused while Redis cannot count them;
   * refreshes, which MySQL alone decides, and calls that are refused anyway are then counted by this node.
   * @throws AppError RATE_LIMITED, SHORT_STATE_UNAVAILABLE
   */
  spendOfAddress(address: string, name: AddressBudget): void | Promise<void> {
    const subject = addressGroup(address);
    return this.counted(name, () => {
      switch (name) {
        case 'refresh':
          return this.leased.take(PLATFORM, name, subject, this.perAddress);
        case 'unauthenticated':
          return this.leased.take(PLATFORM, name, subject, this.unauthenticated);
        case 'auth':
        case 'enterprise':
          return failClosed(this.buckets.take(PLATFORM, name, subject, this.perAddress));
      }
    });
  }

  /** Spends one handshake of an address. @throws AppError RATE_LIMITED */
  spendHandshake(address: string): void | Promise<void> {
    return this.counted('handshake', () =>
      this.leased.take(PLATFORM, 'handshake', addressGroup(address), this.handshakes),
    );
  }

  /** Counts refusals, whether they are thrown or rejected. */
  private counted(limit: LimitName, take: () => void | Promise<void>): void | Promise<void> {
    try {
      return take()?.catch((error: unknown) => this.refused(limit, error));
    } catch (error) {
      this.refused(limit, error);
    }
  }

  private refused(limit: LimitName, error: unknown): never {
    if (error instanceof AppError && error.code === 'RATE_LIMITED') this.refusals.inc({ limit });
    throw error;
  }
}
