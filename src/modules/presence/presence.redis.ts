import { Injectable } from '@nestjs/common';
import { RedisKeys } from '../../platform/redis/keys.js';
import { loadScript, RedisScripts } from '../../platform/redis/redis-scripts.js';

const RENEW = loadScript(__dirname, 'renew');
const LIVING = loadScript(__dirname, 'living');

/** Keys and scripts of the node lease. */
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

  async endLease(node: string): Promise<void> {
    await this.scripts.command('node_zrem', (client) => client.zrem(this.nodesKey, node));
    await this.scripts.command('node_del', (client) => client.unlink(this.keys.of('nodeLease', { node })));
  }

  /** `complete` is false while a Redis that has just started may not know every node yet. */
  async livingNodes(leaseMs: number): Promise<{ nodes: string[]; complete: boolean }> {
    const [complete, ...nodes] = (await this.scripts.run(LIVING, [this.nodesKey], [leaseMs])) as string[];
    return { nodes, complete: complete === '1' };
  }

  private get nodesKey(): string {
    return this.keys.of('nodes', {});
  }
}
