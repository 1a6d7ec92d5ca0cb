import { Injectable } from '@nestjs/common';
import { asUserId, type TenantId, type Topic, type UserId } from '../../platform/ids/ids.js';
import { RedisKeys } from '../../platform/redis/keys.js';
import { loadScript, RedisScripts } from '../../platform/redis/redis-scripts.js';

const CHANGE = loadScript(__dirname, 'members_change');
const RENEW = loadScript(__dirname, 'members_renew');
const DROP = loadScript(__dirname, 'members_drop');
const COUNT = loadScript(__dirname, 'online_count');
const OFFLINE = loadScript(__dirname, 'offline_members');

const TTL_SECONDS = 24 * 3600;
const COUNT_MS = 10_000;
/** A cached count above this outlives changes: in a big group they are many, and each would cost a union. */
const SMALL_COUNT = 500;
/** Members in one call. */
const CHUNK = 1_000;

/** Online members of topics: a set per node, counted over the living nodes. All throw RedisUnavailable. */
@Injectable()
export class TopicMembersRedis {
  constructor(
    private readonly keys: RedisKeys,
    private readonly scripts: RedisScripts,
  ) {}

  /** Members who came to or left this node's sockets of a topic. */
  async change(
    node: string,
    tenant: TenantId,
    topic: Topic,
    added: readonly UserId[],
    removed: readonly UserId[],
  ): Promise<void> {
    const all = [...added, ...removed];
    for (let first = 0; first < all.length; first += CHUNK) {
      const adds = Math.max(0, Math.min(CHUNK, added.length - first));
      await this.runChange(node, tenant, topic, false, adds, all.slice(first, first + CHUNK));
    }
  }

  /** Writes the node's set of a topic anew. */
  async replace(node: string, tenant: TenantId, topic: Topic, uids: readonly UserId[]): Promise<void> {
    for (let first = 0; first === 0 || first < uids.length; first += CHUNK) {
      const chunk = uids.slice(first, first + CHUNK);
      await this.runChange(node, tenant, topic, first === 0, chunk.length, chunk);
    }
  }

  /** @returns how many members Redis has for this node */
  async renew(node: string, tenant: TenantId, topic: Topic): Promise<number> {
    const keys = [this.set(node, tenant, topic), this.keys.of('topicNodes', { t: tenant, topic })];
    const [, size] = (await this.scripts.run(RENEW, keys, [node, TTL_SECONDS])) as [string, number];
    return size;
  }

  /** The node is dead. */
  async drop(node: string, tenant: TenantId, topic: Topic): Promise<void> {
    await this.scripts.run(DROP, this.keysOf(node, tenant, topic), [node]);
  }

  /** Members with a subscribed socket on any of the living nodes; up to 10 s old in big groups. */
  async count(living: readonly string[], tenant: TenantId, topic: Topic): Promise<number> {
    const cached = this.keys.of('topicOnlineCount', { t: tenant, topic });
    const keys = [cached, ...living.map((node) => this.set(node, tenant, topic))];
    return Number(await this.scripts.run(COUNT, keys, [COUNT_MS]));
  }

  /** Those of `uids` that have no subscribed socket on a living node. */
  async offline(living: readonly string[], tenant: TenantId, topic: Topic, uids: readonly UserId[]): Promise<UserId[]> {
    // Without a living node there is no slot to ask.
    if (living.length === 0) return [...uids];
    const keys = living.map((node) => this.set(node, tenant, topic));
    const found: UserId[] = [];
    for (let first = 0; first < uids.length; first += CHUNK) {
      const chunk = (await this.scripts.run(OFFLINE, keys, uids.slice(first, first + CHUNK))) as string[];
      found.push(...chunk.map(asUserId));
    }
    return found;
  }

  private async runChange(
    node: string,
    tenant: TenantId,
    topic: Topic,
    anew: boolean,
    adds: number,
    uids: readonly UserId[],
  ): Promise<void> {
    const args = [node, TTL_SECONDS, SMALL_COUNT, anew ? 1 : 0, adds, ...uids];
    await this.scripts.run(CHANGE, this.keysOf(node, tenant, topic), args);
  }

  private keysOf(node: string, tenant: TenantId, topic: Topic): string[] {
    const params = { t: tenant, topic };
    return [
      this.set(node, tenant, topic),
      this.keys.of('topicNodes', params),
      this.keys.of('topicOnlineCount', params),
    ];
  }

  private set(node: string, tenant: TenantId, topic: Topic): string {
    return this.keys.of('topicNodeMembers', { t: tenant, topic, node });
  }
}
