import { Injectable } from '@nestjs/common';
import { asTenantId, asTopic, asUserId, type TenantId, type Topic, type UserId } from '../../platform/ids/ids.js';
import { Batches } from '../../platform/redis/batches.js';
import { RedisKeys } from '../../platform/redis/keys.js';
import { loadScript, RedisScripts } from '../../platform/redis/redis-scripts.js';

const ADD = loadScript(__dirname, 'index_add');

const TTL_SECONDS = 24 * 3600;
const BATCH = 500;
const SCAN_COUNT = 500;

interface Entry {
  readonly key: string;
  readonly member: string;
}

/**
 * What a node holds, so that whoever clears up after it finds everything without a scan of Redis: its tenants, and of each
 * its users and topics. Additions that come at the same time leave together. All throw RedisUnavailable.
 */
@Injectable()
export class NodeIndexRedis {
  /** Node and tenant whose entry is known to be written. */
  private readonly tenants = new Set<string>();
  private readonly adds: Batches<Entry, null>;

  constructor(
    private readonly keys: RedisKeys,
    private readonly scripts: RedisScripts,
  ) {
    this.adds = new Batches(BATCH, (entries) => this.add(entries));
  }

  async addUser(node: string, tenant: TenantId, uid: UserId): Promise<void> {
    await this.addTenant(node, tenant);
    await this.push(this.users(node, tenant), uid);
  }

  async addTopic(node: string, tenant: TenantId, topic: Topic): Promise<void> {
    await this.addTenant(node, tenant);
    await this.push(this.topics(node, tenant), topic);
  }

  async removeUsers(node: string, tenant: TenantId, uids: readonly UserId[]): Promise<void> {
    await this.remove(this.users(node, tenant), uids);
  }

  async removeTopics(node: string, tenant: TenantId, topics: readonly Topic[]): Promise<void> {
    await this.remove(this.topics(node, tenant), topics);
  }

  /** Forgets a tenant of a node, which must have nothing left in it. */
  async removeTenant(node: string, tenant: TenantId): Promise<void> {
    await this.remove(this.tenantsKey(node), [tenant]);
  }

  async *tenantsOf(node: string): AsyncGenerator<TenantId[]> {
    for await (const found of this.scan(this.tenantsKey(node))) yield found.map(asTenantId);
  }

  async *usersOf(node: string, tenant: TenantId): AsyncGenerator<UserId[]> {
    for await (const found of this.scan(this.users(node, tenant))) yield found.map(asUserId);
  }

  async *topicsOf(node: string, tenant: TenantId): AsyncGenerator<Topic[]> {
    for await (const found of this.scan(this.topics(node, tenant))) yield found.map(asTopic);
  }

  /** Users of a node in one tenant. */
  countUsers(node: string, tenant: TenantId): Promise<number> {
    return this.scripts.command('node_users', (client) => client.scard(this.users(node, tenant)));
  }

  /** Lets the entries of a node live on; its lease says whether they count. */
  async prolong(node: string, tenants: Iterable<TenantId>): Promise<void> {
    const keys = [...tenants].flatMap((tenant) => [this.users(node, tenant), this.topics(node, tenant)]);
    for (const key of [this.tenantsKey(node), ...keys]) {
      await this.scripts.command('node_index_expire', (client) => client.expire(key, TTL_SECONDS));
    }
  }

  private async addTenant(node: string, tenant: TenantId): Promise<void> {
    const name = `${node} ${tenant}`;
    if (this.tenants.has(name)) return;
    await this.push(this.tenantsKey(node), tenant);
    this.tenants.add(name);
  }

  private push(key: string, member: string): Promise<null> {
    return this.adds.push(key, { key, member });
  }

  private async add(entries: readonly Entry[]): Promise<null[]> {
    const [{ key }] = entries;
    const members = entries.map((entry) => entry.member);
    await this.scripts.run(ADD, [key], [TTL_SECONDS, ...members]);
    return entries.map(() => null);
  }

  private async remove(key: string, members: readonly string[]): Promise<void> {
    if (members.length === 0) return;
    await this.scripts.command('node_index_remove', (client) => client.srem(key, ...members));
  }

  private async *scan(key: string): AsyncGenerator<string[]> {
    for (let cursor = '0'; ;) {
      const at = cursor;
      const [next, members] = await this.scripts.command('node_index_scan', (client) =>
        client.sscan(key, at, 'COUNT', SCAN_COUNT),
      );
      if (members.length > 0) yield members;
      if (next === '0') return;
      cursor = next;
    }
  }

  private users(node: string, tenant: TenantId): string {
    return this.keys.of('nodeUsers', { t: tenant, node });
  }

  private topics(node: string, tenant: TenantId): string {
    return this.keys.of('nodeTopics', { t: tenant, node });
  }

  private tenantsKey(node: string): string {
    return this.keys.of('nodeTenants', { node });
  }
}
