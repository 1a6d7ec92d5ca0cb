import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { hostname } from 'node:os';
import { ENV, type Env } from '../../platform/env/env.js';
import { Logger } from '../../platform/observe/logger.js';
import { Metrics } from '../../platform/observe/metrics.js';
import { Readiness } from '../../platform/observe/readiness.js';
import { NodeBus, type LivingNodes } from '../../platform/redis/node-bus.js';
import { NodeIdentity } from '../../platform/redis/node-identity.js';
import { RedisClients } from '../../platform/redis/redis-clients.js';
import { PresenceRedis } from './presence.redis.js';

/** A node that has not renewed for this long is dead to the others. */
export const LEASE_MS = 15_000;
const RENEW_EVERY_MS = 5_000;
const RETRY_MS = 1_000;
const WATCH_EVERY_MS = 2_000;
/** How long a starting node waits for Redis before it goes on without: it is not ready then. */
const START_WAIT_MS = 5_000;

/**
 * This node's lease, and which other nodes live. A node whose own lease may have ended must deliver nothing until it has
 * read its sockets' memberships again: a kick that was acknowledged meanwhile did not wait for it.
 */
@Injectable()
export class NodeLease implements OnModuleInit {
  /** Monotonic; taken before the renewal was sent, so that our view of the lease never ends later than Redis's. */
  private renewedAtMs = -Infinity;
  /** Since when every renewal succeeded, monotonic. */
  private unbrokenSinceMs = Infinity;
  private registered = false;
  private attempts = 0;
  private stopped = false;
  private timer?: NodeJS.Timeout;
  private watcher?: NodeJS.Timeout;
  private known: ReadonlySet<string> = new Set();
  private connections: () => number = () => 0;
  private readonly startedAt = new Date().toISOString();
  private readonly address: string;
  private readonly lostListeners: (() => void)[] = [];
  private readonly goneListeners: ((nodes: string[]) => void)[] = [];

  constructor(
    private readonly redis: PresenceRedis,
    private readonly identity: NodeIdentity,
    private readonly bus: NodeBus,
    private readonly clients: RedisClients,
    private readonly log: Logger,
    readiness: Readiness,
    metrics: Metrics,
    @Inject(ENV) env: Pick<Env, 'HOST' | 'PORT'>,
  ) {
    this.address = `${env.HOST === '0.0.0.0' ? hostname() : env.HOST}:${env.PORT}`;
    readiness.require('lease', () => this.stands);
    const nodes = metrics.gauge('im_nodes_living', 'Living nodes as this one sees them');
    this.reportNodes = () => nodes.set(this.known.size);
  }

  private readonly reportNodes: () => void;

  async onModuleInit(): Promise<void> {
    await this.clients.waitReady(START_WAIT_MS);
    await this.renew();
    this.watcher = setInterval(() => void this.watch(), WATCH_EVERY_MS).unref();
  }

  /** Is it certain that the other nodes take this one for living? */
  get stands(): boolean {
    return performance.now() - this.renewedAtMs < LEASE_MS;
  }

  /** May this node judge others by now? Right after trouble with Redis all leases are over, and nobody is dead. */
  get mayJudge(): boolean {
    return this.stands && performance.now() - this.unbrokenSinceMs >= LEASE_MS;
  }

  /** Called when this node came back under a new id after its lease had ended. */
  onLost(listener: () => void): void {
    this.lostListeners.push(listener);
  }

  /** Called when other nodes ended: what they had acknowledged may never have been published. */
  onOthersGone(listener: (nodes: string[]) => void): void {
    this.goneListeners.push(listener);
  }

  /** How many sockets this node has, for the operators' view. */
  countConnections(count: () => number): void {
    this.connections = count;
  }

  living(): Promise<LivingNodes> {
    return this.redis.livingNodes(LEASE_MS);
  }

  /** The last thing that this node says as one of the nodes. */
  async end(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    clearInterval(this.watcher);
    if (this.registered) await this.redis.retire(this.identity.id).catch(() => undefined);
  }

  private async renew(): Promise<void> {
    const before = performance.now();
    this.attempts += 1;
    try {
      const wasOver = this.registered && !this.stands;
      const renewed = !wasOver && (await this.redis.renewLease(this.identity.id, LEASE_MS, !this.registered));
      if (!renewed) await this.comeBack();
      this.renewedAtMs = before;
      if (!renewed || this.unbrokenSinceMs === Infinity) this.unbrokenSinceMs = before;
      // What came while there was no lease was not delivered here.
      if (!renewed || (!this.registered && this.attempts > 1)) for (const listener of this.lostListeners) listener();
      this.registered = true;
      await this.redis.describeNode(this.identity.id, LEASE_MS, {
        started_at: this.startedAt,
        address: this.address,
        connections: this.connections(),
      });
      this.schedule(RENEW_EVERY_MS);
    } catch (error) {
      this.unbrokenSinceMs = Infinity;
      this.log.warn({ node: this.identity.id, error: (error as Error).message }, 'the node lease could not be renewed');
      this.schedule(RETRY_MS);
    }
  }

  /** The old id is dead to the others. A new one is registered first, so that every later kick waits for this node. */
  private async comeBack(): Promise<void> {
    const old = this.identity.id;
    const node = this.identity.renew();
    this.registered = false;
    this.bus.listen();
    await this.redis.renewLease(node, LEASE_MS, true);
    this.log.error({ old, node }, 'the node lease had ended; the node goes on under a new id');
  }

  private schedule(ms: number): void {
    if (!this.stopped) this.timer = setTimeout(() => void this.renew(), ms).unref();
  }

  private async watch(): Promise<void> {
    try {
      const { nodes, complete } = await this.redis.livingNodes(LEASE_MS);
      // A list that lacks nodes is no news of their end.
      if (!complete) return;
      const living = new Set(nodes);
      const gone = [...this.known].filter((node) => !living.has(node) && node !== this.identity.id);
      this.known = living;
      this.reportNodes();
      if (gone.length > 0) for (const listener of this.goneListeners) listener(gone);
    } catch {
      // Redis is away; renew() reports it, and its return counts as a gap by itself.
    }
  }
}
