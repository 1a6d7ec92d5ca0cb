import { Injectable } from '@nestjs/common';
import { NodeBus } from '../../platform/redis/node-bus.js';
import { NodeIdentity } from '../../platform/redis/node-identity.js';
import { NodeIndexRedis } from './node-index.redis.js';
import { LEASE_MS, NodeLease } from './node-lease.js';
import { PresenceRedis, type NodeEntry } from './presence.redis.js';
import type { NodeInfo } from './presence.types.js';

/** A frozen node is waited for until its lease must have ended, and a little longer. */
const ASK_TIMEOUT_MS = LEASE_MS + 5_000;

/** Which nodes there are, and requests to all of them. */
@Injectable()
export class NodesView {
  constructor(
    private readonly identity: NodeIdentity,
    private readonly lease: NodeLease,
    private readonly bus: NodeBus,
    private readonly redis: PresenceRedis,
    private readonly index: NodeIndexRedis,
  ) {}

  get nodeId(): string {
    return this.identity.id;
  }

  get leaseStands(): boolean {
    return this.lease.stands;
  }

  async living(): Promise<string[]> {
    return [...(await this.lease.living()).nodes];
  }

  /** Does any other node live? False as well when that cannot be known. */
  async othersLive(): Promise<boolean> {
    const nodes = await this.living().catch(() => []);
    return nodes.some((node) => node !== this.identity.id);
  }

  onLeaseLost(listener: () => void): void {
    this.lease.onLost(listener);
  }

  onOthersGone(listener: (nodes: string[]) => void): void {
    this.lease.onOthersGone(listener);
  }

  countConnections(count: () => number): void {
    this.lease.countConnections(count);
  }

  askAll(kind: string, payload: unknown, timeoutMs = ASK_TIMEOUT_MS): Promise<boolean> {
    return this.bus.askAll(kind, payload, { timeoutMs, livingNodes: () => this.lease.living() });
  }

  end(): Promise<void> {
    return this.lease.end();
  }

  async describe(): Promise<NodeInfo[]> {
    const [entries, living] = await Promise.all([this.redis.describeAll(), this.living()]);
    return Promise.all(entries.map((entry) => this.infoOf(entry, living.includes(entry.node))));
  }

  private async infoOf(
    entry: NodeEntry & { readonly fields: Record<string, string> },
    living: boolean,
  ): Promise<NodeInfo> {
    const { node, leaseEndMs, fields } = entry;
    let users = 0;
    for await (const tenants of this.index.tenantsOf(node)) {
      for (const tenant of tenants) users += await this.index.countUsers(node, tenant);
    }
    return {
      nodeId: node,
      living,
      leaseEndsAt: new Date(leaseEndMs).toISOString(),
      ...(fields.started_at ? { startedAt: fields.started_at } : {}),
      ...(fields.address ? { address: fields.address } : {}),
      ...(fields.connections ? { connections: Number(fields.connections) } : {}),
      users,
    };
  }
}
