import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { ENV, type Env } from '../../platform/env/env.js';
import type { TenantId, UserId } from '../../platform/ids/ids.js';
import { Logger } from '../../platform/observe/logger.js';
import { PresenceService } from '../presence/presence.service.js';
import { AuthRedis } from './auth.redis.js';

/** How long a logout waits for the other nodes to close its sockets, before that goes on behind its answer. */
const WAIT_MS = 700;
const RETRY_MS = 1_000;
/** Sessions that the nodes are told of in one request. */
const MOST_AT_ONCE = 500;

/** Sessions of one user that ended together. */
interface Pending {
  readonly tenant: TenantId;
  readonly uid: UserId;
  readonly sessionIds: readonly string[];
  readonly untilMs: number;
}

const keyOf = (tenant: TenantId, sessionId: string): string => `${tenant}:${sessionId}`;

/**
 * Carries a revocation that MySQL has to where it takes effect: the mark that every call and handshake reads, and the
 * sockets on all nodes. What could not be told (Redis is away, a node is silent) is told again until no access token of
 * the session can be valid any more.
 */
@Injectable()
export class Revocations implements OnApplicationShutdown {
  /** By session. */
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
    return this.pending.has(keyOf(tenant, sessionId));
  }

  /** Spares MySQL the question for as long as Redis remembers. Best effort: without the mark MySQL is asked. */
  async noteStanding(tenant: TenantId, sessionId: string): Promise<void> {
    if (!this.isPending(tenant, sessionId)) await this.redis.markStanding(tenant, sessionId).catch(() => undefined);
  }

  /** Of sessions of one user. Never throws: the revocation itself is done. */
  async announce(tenant: TenantId, uid: UserId, sessionIds: readonly string[]): Promise<void> {
    const untilMs = Date.now() + this.env.ACCESS_TOKEN_TTL_SECONDS * 1000;
    const items: Pending[] = [];
    for (let start = 0; start < sessionIds.length; start += MOST_AT_ONCE) {
      items.push({ tenant, uid, sessionIds: sessionIds.slice(start, start + MOST_AT_ONCE), untilMs });
    }
    for (const item of items) {
      for (const sessionId of item.sessionIds) this.pending.set(keyOf(tenant, sessionId), item);
    }
    await Promise.all(items.map((item) => this.tell(item)));
    this.scheduleRetry();
  }

  onApplicationShutdown(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  private async tell(item: Pending): Promise<void> {
    const { tenant, uid, sessionIds } = item;
    try {
      await Promise.all(sessionIds.map((sessionId) => this.redis.markRevoked(tenant, sessionId)));
      const closed = await this.presence.askLivingNodes('session:close', { tenant, uid, sessionIds }, WAIT_MS);
      if (closed) this.forget(item);
    } catch (error) {
      this.log.warn(
        { tenant, uid, sessions: sessionIds.length, error: (error as Error).message },
        'a revocation could not be told to all yet',
      );
    }
  }

  private forget(item: Pending): void {
    for (const sessionId of item.sessionIds) {
      const key = keyOf(item.tenant, sessionId);
      if (this.pending.get(key) === item) this.pending.delete(key);
    }
  }

  private scheduleRetry(): void {
    if (this.pending.size === 0 || this.timer || this.stopped) return;
    this.timer = setTimeout(() => void this.retry(), RETRY_MS).unref();
  }

  private async retry(): Promise<void> {
    const now = Date.now();
    for (const item of new Set(this.pending.values())) {
      if (item.untilMs < now) this.forget(item);
      else await this.tell(item);
    }
    this.timer = undefined;
    this.scheduleRetry();
  }
}
