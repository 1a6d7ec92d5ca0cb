import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { TenantId, UserId } from '../../platform/ids/ids.js';
import { NodeIdentity } from '../../platform/redis/node-identity.js';
import { Logger } from '../../platform/observe/logger.js';
import { Announcer } from './announcer.js';
import { LastSeenWriter } from './last-seen.js';
import { LocalUsers, userKey } from './local-users.js';
import { NodeIndexRedis } from './node-index.redis.js';
import { GRACE_MS, SessionRedis, type Settled } from './session.redis.js';

const LOOK_EVERY_MS = 250;
const RETRY_MS = 1_000;
/** Endings that wait for Redis. Above it the oldest is left to its time to live. */
const MAX_WAITING = 100_000;
const CHUNK = 500;

interface User {
  readonly tenant: TenantId;
  readonly uid: UserId;
}

interface Departure extends User {
  /** The session that Redis has to forget first; null when it did. */
  readonly session: string | null;
  readonly dueMs: number;
}

/**
 * What follows when a socket closes: its session ends at once; if it was the user's last, he is announced as offline after
 * the grace. He stays in this node's index until that is told, so that whoever clears up after this node finds him.
 */
@Injectable()
export class Departures implements OnApplicationShutdown {
  private readonly waiting = new Map<string, Departure>();
  private readonly running = new Set<Promise<void>>();
  private timer?: NodeJS.Timeout;

  constructor(
    private readonly users: LocalUsers,
    private readonly redis: SessionRedis,
    private readonly index: NodeIndexRedis,
    private readonly announcer: Announcer,
    private readonly lastSeen: LastSeenWriter,
    private readonly identity: NodeIdentity,
    private readonly log: Logger,
  ) {}

  /** Never throws; what Redis does not take now it is told again until it does. */
  closed(tenant: TenantId, uid: UserId, session: string): void {
    this.track(this.end({ tenant, uid, session, dueMs: 0 }));
  }

  /**
   * The end of this node. Sessions that are ending are waited for; users in their grace are left to the other nodes when
   * there are any (they look into this node's index), else they are told offline now.
   */
  async finish(othersLive: boolean): Promise<void> {
    clearInterval(this.timer);
    await this.settled();
    const left = [...this.waiting.values()];
    this.waiting.clear();
    await inChunks(left, async (departure) => {
      if (departure.session !== null) await this.redis.markOffline(departure.tenant, departure.uid, departure.session);
      if (!othersLive)
        await this.conclude(departure, await this.redis.settleOffline(departure.tenant, departure.uid, 0));
    });
    await this.lastSeen.flush();
  }

  /** Waits for the commands that are under way. */
  async settled(): Promise<void> {
    while (this.running.size > 0) await Promise.all(this.running);
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
  }

  private async end(departure: Departure): Promise<void> {
    const { tenant, uid, session } = departure;
    try {
      const left = await this.redis.markOffline(tenant, uid, session!);
      if (left === 'last') this.later({ tenant, uid, session: null, dueMs: performance.now() + GRACE_MS });
      else await this.forget(departure);
    } catch {
      this.later({ tenant, uid, session, dueMs: performance.now() + RETRY_MS });
    }
  }

  /** After the grace. */
  private async settle(departure: Departure): Promise<void> {
    const { tenant, uid } = departure;
    // He is back on this very node, which writes his new session.
    if (this.users.has(tenant, uid)) return;
    try {
      await this.conclude(departure, await this.redis.settleOffline(tenant, uid));
    } catch {
      this.later({ ...departure, dueMs: performance.now() + RETRY_MS });
    }
  }

  private async conclude(user: User, outcome: Settled): Promise<void> {
    const { tenant, uid } = user;
    if (outcome.kind === 'grace') {
      this.later({ tenant, uid, session: null, dueMs: performance.now() + outcome.leftMs });
      return;
    }
    if (outcome.kind === 'offline') {
      const { version, lastSeenMs } = outcome;
      this.lastSeen.add(tenant, uid, lastSeenMs);
      await this.announcer.tell({ tenant, uid, online: false, version, lastSeenMs });
    }
    await this.forget(user);
  }

  /** Takes the user out of the node's index, unless he came back. */
  private async forget({ tenant, uid }: User): Promise<void> {
    if (this.users.has(tenant, uid)) return;
    await this.index.removeUsers(this.identity.id, tenant, [uid]).catch((error: Error) => {
      this.log.debug({ tenant, error: error.message }, 'a user stays in the index of this node');
    });
  }

  private later(departure: Departure): void {
    const key = `${userKey(departure.tenant, departure.uid)} ${departure.session ?? ''}`;
    this.waiting.delete(key);
    if (this.waiting.size >= MAX_WAITING) this.waiting.delete(this.waiting.keys().next().value as string);
    this.waiting.set(key, departure);
    this.timer ??= setInterval(() => this.look(), LOOK_EVERY_MS).unref();
  }

  private look(): void {
    const now = performance.now();
    for (const [key, departure] of this.waiting) {
      if (departure.dueMs > now) continue;
      this.waiting.delete(key);
      this.track(departure.session === null ? this.settle(departure) : this.end(departure));
    }
    if (this.waiting.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }

  private track(work: Promise<void>): void {
    this.running.add(work);
    void work.finally(() => this.running.delete(work));
  }
}

async function inChunks<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  for (let first = 0; first < items.length; first += CHUNK) {
    await Promise.allSettled(items.slice(first, first + CHUNK).map(work));
  }
}
