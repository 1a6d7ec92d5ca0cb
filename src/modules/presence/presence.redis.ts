import { Injectable } from '@nestjs/common';
import { RedisKeys } from '../../platform/redis/keys.js';
import { loadScript, RedisScripts } from '../../platform/redis/redis-scripts.js';

const RENEW = loadScript(__dirname, 'renew');
const LIVING = loadScript(__dirname, 'living');
const READY = loadScript(__dirname, 'ready');
const RETIRE = loadScript(__dirname, 'retire');
const DEAD = loadScript(__dirname, 'dead');
const HOLD = loadScript(__dirname, 'hold');

/** Nodes that an operator is shown, at most. */
const MAX_SHOWN = 1_000;

export interface NodeEntry {
  readonly node: string;
  /** End of its lease, milliseconds, by the clock of Redis. */
  readonly leaseEndMs: number;
}

/** Keys and scripts of the nodes' leases. All throw RedisUnavailable. */
@Injectable()
export class PresenceRedis {
  constructor(
    private readonly keys: RedisKeys,
    private readonly scripts: RedisScripts,
  ) {}

  /** @returns false when the lease had ended already and others may have acted on that */
  async renewLease(node: string, leaseMs: number, first: boolean): Promise<boolean> {
    const [status] = (await this.scripts.run(RENEW, [this.nodesKey], [node, leaseMs, first ? 1 : 0])) as [string];
    return status === 'RENEWED';
  }

  /** What operators see of a node; the lease itself is the entry in `nodes`. */
  async describeNode(node: string, leaseMs: number, fields: Record<string, string | number>): Promise<void> {
    const key = this.keys.of('nodeLease', { node });
    await this.scripts.command('node_hset', (client) => client.hset(key, fields));
    await this.scripts.command('node_pexpire', (client) => client.pexpire(key, leaseMs));
  }

  /** The node is dead for all from now on; what it left is cleared by another one. */
  async retire(node: string): Promise<void> {
    await this.scripts.run(RETIRE, [this.nodesKey], [node]);
    await this.scripts.command('node_del', (client) => client.unlink(this.keys.of('nodeLease', { node })));
  }

  /** `complete` is false while a Redis that has just started may not know every node yet. */
  async livingNodes(leaseMs: number): Promise<{ nodes: string[]; complete: boolean }> {
    const [complete, ...nodes] = (await this.scripts.run(LIVING, [this.nodesKey], [leaseMs])) as string[];
    return { nodes, complete: complete === '1' };
  }

  /** Nodes that ended and are not cleared yet. */
  async deadNodes(most: number): Promise<NodeEntry[]> {
    return entriesOf((await this.scripts.run(DEAD, [this.nodesKey], [most])) as string[]);
  }

  /** Takes or prolongs the right to clear up after a node. @returns false when somebody else has it */
  async holdReaper(node: string, owner: string, ms: number): Promise<boolean> {
    const [status] = (await this.scripts.run(HOLD, [this.keys.of('nodeReaper', { node })], [owner, ms])) as [string];
    return status === 'HELD';
  }

  /** A dead node that is cleared needs no entry any more. */
  async forgetNode(node: string): Promise<void> {
    await this.scripts.command('node_zrem', (client) => client.zrem(this.nodesKey, node));
  }

  async isReady(): Promise<boolean> {
    return (await this.scripts.command('presence_ready', (client) => client.get(this.readyKey))) === '1';
  }

  /** Lets presence become ready when that time has come. @returns whether it became so by this call */
  async becomeReady(afterMs: number): Promise<boolean> {
    const [status] = (await this.scripts.run(READY, [this.readyKey], [afterMs])) as [string];
    return status === 'NOW_READY';
  }

  /** All nodes with an entry, and what they said of themselves. */
  async describeAll(): Promise<(NodeEntry & { readonly fields: Record<string, string> })[]> {
    const flat = await this.scripts.command('nodes_all', (client) =>
      client.zrangebyscore(this.nodesKey, '-inf', '+inf', 'WITHSCORES', 'LIMIT', 0, MAX_SHOWN),
    );
    return Promise.all(
      entriesOf(flat).map(async (entry) => {
        const key = this.keys.of('nodeLease', { node: entry.node });
        return { ...entry, fields: await this.scripts.command('node_hgetall', (client) => client.hgetall(key)) };
      }),
    );
  }

  private get nodesKey(): string {
    return this.keys.of('nodes', {});
  }

  private get readyKey(): string {
    return this.keys.of('presenceReady', {});
  }
}

/** `[node, score, node, score, …]` */
function entriesOf(flat: readonly string[]): NodeEntry[] {
  return flat.flatMap((node, index) => (index % 2 === 0 ? [{ node, leaseEndMs: Number(flat[index + 1]) }] : []));
}
