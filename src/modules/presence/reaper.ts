import { randomUUID } from 'node:crypto';
import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { TenantId, UserId } from '../../platform/ids/ids.js';
import { Logger } from '../../platform/observe/logger.js';
import { Metrics } from '../../platform/observe/metrics.js';
import { Announcer } from './announcer.js';
import { LastSeenWriter } from './last-seen.js';
import { NodeIndexRedis } from './node-index.redis.js';
import { LEASE_MS, NodeLease } from './node-lease.js';
import { PresenceRedis, type NodeEntry } from './presence.redis.js';
import { SessionRedis } from './session.redis.js';
import { TopicMembersRedis } from './topic-members.redis.js';

const LOOK_EVERY_MS = 2_000;
const LOCK_MS = 10_000;
const NODES_A_LOOK = 10;

/**
 * Clears up after dead nodes: ends their sessions, announces the users at once, drops their sets of online members. One
 * living node does it, whoever takes the lock first; what it does may be repeated by the next one.
 */
@Injectable()
export class Reaper implements OnModuleInit, OnApplicationShutdown {
  private readonly owner = randomUUID();
  private readonly expired;
  private timer?: NodeJS.Timeout;
  private working = false;

  constructor(
    private readonly nodes: PresenceRedis,
    private readonly lease: NodeLease,
    private readonly index: NodeIndexRedis,
    private readonly sessions: SessionRedis,
    private readonly topics: TopicMembersRedis,
    private readonly announcer: Announcer,
    private readonly lastSeen: LastSeenWriter,
    private readonly log: Logger,
    metrics: Metrics,
  ) {
    this.expired = metrics.counter('im_presence_expired_total', 'Users told offline because their node had died');
  }

  onModuleInit(): void {
    this.timer = setInterval(() => void this.look(), LOOK_EVERY_MS).unref();
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
  }

  private async look(): Promise<void> {
    if (this.working || !this.lease.mayJudge) return;
    this.working = true;
    try {
      for (const dead of await this.nodes.deadNodes(NODES_A_LOOK)) await this.clear(dead);
    } catch (error) {
      this.log.warn({ error: (error as Error).message }, 'dead nodes could not be cleared; they will be');
    } finally {
      this.working = false;
    }
  }

  private async clear(dead: NodeEntry): Promise<void> {
    if (!(await this.holds(dead))) return;
    let left = 0;
    let cleared = 0;
    for await (const tenants of this.index.tenantsOf(dead.node)) {
      for (const tenant of tenants) {
        const users = await this.clearUsers(dead, tenant);
        if (users === null || !(await this.clearTopics(dead, tenant))) return;
        cleared += users.cleared;
        left += users.left;
        if (users.left === 0) await this.index.removeTenant(dead.node, tenant);
      }
    }
    // Users in their grace are looked at again.
    if (left > 0) return;
    await this.nodes.forgetNode(dead.node);
    this.log.warn({ node: dead.node, users: cleared }, 'cleared up after a dead node');
  }

  /** @returns null when the lock was lost: somebody else goes on */
  private async clearUsers(dead: NodeEntry, tenant: TenantId): Promise<{ cleared: number; left: number } | null> {
    let cleared = 0;
    let left = 0;
    for await (const uids of this.index.usersOf(dead.node, tenant)) {
      if (!(await this.holds(dead))) return null;
      const done = (await Promise.all(uids.map((uid) => this.reap(dead, tenant, uid)))).flat();
      await this.index.removeUsers(dead.node, tenant, done);
      cleared += done.length;
      left += uids.length - done.length;
    }
    return { cleared, left };
  }

  /** @returns the user when nothing is left to do for him */
  private async reap(dead: NodeEntry, tenant: TenantId, uid: UserId): Promise<UserId[]> {
    const outcome = await this.sessions.reap(tenant, uid, dead.node, dead.leaseEndMs - LEASE_MS);
    if (outcome.kind === 'grace') return [];
    if (outcome.kind === 'online') return [uid];
    const { version, lastSeenMs } = outcome;
    this.expired.inc();
    this.lastSeen.add(tenant, uid, lastSeenMs);
    return (await this.announcer.tell({ tenant, uid, online: false, version, lastSeenMs })) ? [uid] : [];
  }

  private async clearTopics(dead: NodeEntry, tenant: TenantId): Promise<boolean> {
    for await (const topics of this.index.topicsOf(dead.node, tenant)) {
      if (!(await this.holds(dead))) return false;
      await Promise.all(topics.map((topic) => this.topics.drop(dead.node, tenant, topic)));
      await this.index.removeTopics(dead.node, tenant, topics);
    }
    return true;
  }

  private holds(dead: NodeEntry): Promise<boolean> {
    return this.nodes.holdReaper(dead.node, this.owner, LOCK_MS);
  }
}
