import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { ENV, type Env } from '../../platform/env/env.js';
import type { TenantId } from '../../platform/ids/ids.js';
import { Logger } from '../../platform/observe/logger.js';
import { PresenceService } from '../presence/presence.service.js';
import { AuthRedis } from './auth.redis.js';

/** How long a logout waits for the other nodes to close its sockets, before that goes on behind its answer. */
const WAIT_MS = 700;
const RETRY_MS = 1_000;

interface Pending {
  readonly tenant: TenantId;
  readonly sessionId: string;
  readonly untilMs: number;
}

/**
 * Carries a revocation that MySQL has to where it takes effect: the mark that every call and handshake reads, and the
 * sockets on all nodes. What could not be told (Redis is away, a node is silent) is told again until no access token of
 * the session can be valid any more.
 */
@Injectable()
export class Revocations implements OnApplicationShutdown {
  private readonly pending = new Map<string, Pending>();
  private timer?: NodeJS.Timeout;
  private stopped = false;

  constructor(
    private readonly redis: AuthRedis,
    private readonly presence: PresenceService,
    private readonly log: Logger,
    @Inject(ENV) private readonly env: Env,
  ) {}

  /** Was this session revoked by this node, and Redis may not know it yet? */
  isPending(tenant: TenantId, sessionId: string): boolean {
    return this.pending.has(`${tenant}:${sessionId}`);
  }

  /** Spares MySQL the question for as long as Redis remembers. Best effort: without the mark MySQL is asked. */
  async noteStanding(tenant: TenantId, sessionId: string): Promise<void> {
    if (!this.isPending(tenant, sessionId)) await this.redis.markStanding(tenant, sessionId).catch(() => undefined);
  }

  /** Never throws: the revocation itself is done. */
  async announce(tenant: TenantId, sessionId: string): Promise<void> {
    const item = { tenant, sessionId, untilMs: Date.now() + this.env.ACCESS_TOKEN_TTL_SECONDS * 1000 };
    this.pending.set(`${tenant}:${sessionId}`, item);
    await this.tell(item);
    this.scheduleRetry();
  }

  onApplicationShutdown(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  private async tell(item: Pending): Promise<void> {
    const { tenant, sessionId } = item;
    try {
      await this.redis.markRevoked(tenant, sessionId);
      const closed = await this.presence.askLivingNodes('session:close', { tenant, sessionId }, WAIT_MS);
      if (closed) this.pending.delete(`${tenant}:${sessionId}`);
    } catch (error) {
      this.log.warn(
        { tenant, sessionId, error: (error as Error).message },
        'a revocation could not be told to all yet',
      );
    }
  }

  private scheduleRetry(): void {
    if (this.pending.size === 0 || this.timer || this.stopped) return;
    this.timer = setTimeout(() => void this.retry(), RETRY_MS).unref();
  }

  private async retry(): Promise<void> {
    const now = Date.now();
    for (const [key, item] of this.pending) {
      if (item.untilMs < now) this.pending.delete(key);
      else await this.tell(item);
    }
    this.timer = undefined;
    this.scheduleRetry();
  }
}
