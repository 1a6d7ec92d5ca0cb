import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { TenantId, Topic, UserId } from '../../platform/ids/ids.js';
import { Logger } from '../../platform/observe/logger.js';
import { NodeIdentity } from '../../platform/redis/node-identity.js';
import { LocalUsers } from './local-users.js';
import { NodeIndexRedis } from './node-index.redis.js';
import { NodeLease } from './node-lease.js';
import { PresenceRedis } from './presence.redis.js';
import { TopicMembersRedis } from './topic-members.redis.js';

/** What this node's sockets hear. */
export interface LocalSubscriptions {
  /** Topics whose members change and that a socket of this node hears. */
  topics(): Iterable<{ readonly tenant: TenantId; readonly topic: Topic }>;
  /** Does any socket hear the topic? */
  hears(tenant: TenantId, topic: Topic): boolean;
  /** Users with a socket in the topic, each once. */
  members(tenant: TenantId, topic: Topic): UserId[];
}

interface Pending {
  readonly tenant: TenantId;
  readonly topic: Topic;
  /** The last word on each user: true = online. */
  readonly changes: Map<UserId, boolean>;
  /** Something went wrong: the set is written anew from what this node knows. */
  anew: boolean;
}

/** Long enough that many who connect at the same time share the write of a topic; a count does not wait for it. */
const FLUSH_AFTER_MS = 200;
/** While many topics change at once, so that a storm of reconnects writes each of them once a second, not five times. */
const STORM_FLUSH_AFTER_MS = 1_000;
const STORM_TOPICS = 100;
const RETRY_MS = 1_000;
const CHUNK = 100;
/** Sets and indexes live 24 h and are prolonged in this many parts, one a minute. */
const RENEW_PARTS = 60;
const RENEW_EVERY_MS = 60_000;
const LIVING_MS = 1_000;
/** Counts above it are kept in the process for a while, too: a storm of reconnects asks for the same big groups. */
const BIG = 500;
const BIG_KEPT_MS = 2_000;

/**
 * Who of a topic's members is online: a user who has a socket in the topic on a living node. Each node writes its own set
 * when a member's first socket joins and his last one leaves; nothing is written while nothing changes.
 */
@Injectable()
export class OnlineMembers implements OnModuleInit, OnApplicationShutdown {
  private local: LocalSubscriptions = { topics: () => [], hears: () => false, members: () => [] };
  private readonly pending = new Map<string, Pending>();
  /** Topics in the index of this node, under which node id. */
  private readonly indexed = new Map<string, string>();
  private ready?: Promise<boolean>;
  private readonly big = new LRUCache<string, number>({ max: 10_000, ttl: BIG_KEPT_MS });
  private living?: { readonly nodes: Promise<readonly string[]>; readonly untilMs: number };
  /** Topics whose set is being written. */
  private readonly writing = new Map<string, Promise<void>>();
  private flushing?: Promise<void>;
  private timer?: NodeJS.Timeout;
  private renewer?: NodeJS.Timeout;
  private part = 0;
  private flushAfterMs = FLUSH_AFTER_MS;

  constructor(
    private readonly redis: TopicMembersRedis,
    private readonly index: NodeIndexRedis,
    private readonly nodes: PresenceRedis,
    private readonly lease: NodeLease,
    private readonly identity: NodeIdentity,
    private readonly users: LocalUsers,
    private readonly log: Logger,
  ) {}

  onModuleInit(): void {
    this.renewer = setInterval(() => void this.renewPart(), RENEW_EVERY_MS).unref();
    this.lease.onLost(() => this.writeAllAnew());
  }

  onApplicationShutdown(): void {
    clearTimeout(this.timer);
    clearInterval(this.renewer);
  }

  /** Says where this node's subscriptions are known. */
  useLocal(local: LocalSubscriptions): void {
    this.local = local;
  }

  /** A member's first socket on this node joined the topic, or his last one left it. Written soon, many at once. */
  changed(tenant: TenantId, topic: Topic, uid: UserId, online: boolean): void {
    const pending = this.pendingOf(tenant, topic);
    // Without a lease nothing can be written, and all is written anew after it: the single words need not be kept.
    if (!this.lease.stands) pending.anew = true;
    else pending.changes.set(uid, online);
    this.schedule(this.flushAfterMs);
  }

  /** @returns null while it cannot be known */
  async count(tenant: TenantId, topic: Topic): Promise<number | null> {
    const key = topicKey(tenant, topic);
    const known = this.big.get(key);
    if (known !== undefined) return known;
    try {
      await this.writeTopic(key);
      const [count, isReady] = await Promise.all([
        this.livingNodes().then((nodes) => this.redis.count(nodes, tenant, topic)),
        this.isReady(),
      ]);
      if (!isReady) return null;
      if (count > BIG) this.big.set(key, count);
      return count;
    } catch (error) {
      this.log.debug({ tenant, topic, error: (error as Error).message }, 'online members cannot be counted');
      return null;
    }
  }

  /**
   * Those of some members that are not online in the topic, for reminders.
   * @returns null while it cannot be known: a Redis that is away, or that is so young that not every node has registered
   */
  async offline(tenant: TenantId, topic: Topic, uids: readonly UserId[]): Promise<UserId[] | null> {
    try {
      const found = await this.redis.offline(await this.livingNodes(), tenant, topic, uids);
      return (await this.isReady()) ? found : null;
    } catch (error) {
      this.log.debug({ tenant, topic, error: (error as Error).message }, 'offline members cannot be known');
      return null;
    }
  }

  /** Writes what waits, now; what cannot be written is tried again later. Never throws. */
  async flush(): Promise<void> {
    while (this.flushing) await this.flushing;
    clearTimeout(this.timer);
    this.timer = undefined;
    this.flushing = this.write().finally(() => (this.flushing = undefined));
    await this.flushing;
  }

  private async write(): Promise<void> {
    if (!this.lease.stands) return;
    const keys = [...this.pending.keys()];
    this.flushAfterMs = keys.length > STORM_TOPICS ? STORM_FLUSH_AFTER_MS : FLUSH_AFTER_MS;
    for (let first = 0; first < keys.length; first += CHUNK) {
      await Promise.all(keys.slice(first, first + CHUNK).map((key) => this.writeTopic(key)));
    }
  }

  /** Writes what waits for a topic, after what is under way for it: a newer word must not be overtaken by an older one. */
  private async writeTopic(key: string): Promise<void> {
    for (let running = this.writing.get(key); running; running = this.writing.get(key)) await running;
    const pending = this.pending.get(key);
    if (!pending || !this.lease.stands) return;
    this.pending.delete(key);
    const writing = this.writeNow(key, pending).finally(() => this.writing.delete(key));
    this.writing.set(key, writing);
    await writing;
  }

  private async writeNow(key: string, { tenant, topic, changes, anew }: Pending): Promise<void> {
    const node = this.identity.id;
    try {
      // First the index: whatever is written has to be found when this node dies.
      if (this.indexed.get(key) !== node) await this.index.addTopic(node, tenant, topic);
      this.indexed.set(key, node);
      if (anew) {
        await this.redis.replace(node, tenant, topic, this.local.members(tenant, topic));
      } else {
        const uids = [...changes.keys()];
        const added = uids.filter((uid) => changes.get(uid));
        const removed = uids.filter((uid) => !changes.get(uid));
        await this.redis.change(node, tenant, topic, added, removed);
      }
      if (!this.local.hears(tenant, topic) && !this.pending.has(key)) await this.leaveTopic(tenant, topic);
    } catch (error) {
      this.log.debug({ tenant, topic, error: (error as Error).message }, 'online members are written later');
      this.pendingOf(tenant, topic).anew = true;
      this.schedule(RETRY_MS);
    }
  }

  private async leaveTopic(tenant: TenantId, topic: Topic): Promise<void> {
    this.indexed.delete(topicKey(tenant, topic));
    await this.index.removeTopics(this.identity.id, tenant, [topic]);
  }

  private writeAllAnew(): void {
    for (const { tenant, topic } of this.local.topics()) this.pendingOf(tenant, topic).anew = true;
    this.schedule(FLUSH_AFTER_MS);
  }

  /** A part of the topics: their sets live on, and one that is not what it should be is written anew. */
  private async renewPart(): Promise<void> {
    if (!this.lease.stands) return;
    this.part = (this.part + 1) % RENEW_PARTS;
    const node = this.identity.id;
    try {
      if (this.part === 0) await this.index.prolong(node, this.users.tenants());
      let number = 0;
      for (const { tenant, topic } of this.local.topics()) {
        number += 1;
        if (number % RENEW_PARTS !== this.part) continue;
        const size = await this.redis.renew(node, tenant, topic);
        if (size !== this.local.members(tenant, topic).length) this.pendingOf(tenant, topic).anew = true;
      }
    } catch (error) {
      this.log.debug({ error: (error as Error).message }, 'sets of online members were not prolonged this time');
    }
    if (this.pending.size > 0) this.schedule(FLUSH_AFTER_MS);
  }

  /** Asked anew each time, by all who ask at the same time together. */
  private isReady(): Promise<boolean> {
    this.ready ??= this.nodes.isReady().finally(() => (this.ready = undefined));
    return this.ready;
  }

  private livingNodes(): Promise<readonly string[]> {
    const now = performance.now();
    if (this.living && this.living.untilMs > now) return this.living.nodes;
    const nodes = this.lease.living().then((living) => living.nodes);
    const living = { nodes, untilMs: now + LIVING_MS };
    this.living = living;
    nodes.catch(() => this.living === living && (this.living = undefined));
    return nodes;
  }

  private pendingOf(tenant: TenantId, topic: Topic): Pending {
    const key = topicKey(tenant, topic);
    const pending = this.pending.get(key) ?? { tenant, topic, changes: new Map<UserId, boolean>(), anew: false };
    this.pending.set(key, pending);
    return pending;
  }

  private schedule(ms: number): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      void this.flush();
    }, ms).unref();
  }
}

const topicKey = (tenant: TenantId, topic: Topic): string => `${tenant} ${topic}`;
