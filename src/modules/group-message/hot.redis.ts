import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { ENV, type Env } from '../../platform/env/env.js';
import type { Actor, Seq, TenantId, Topic, UserId } from '../../platform/ids/ids.js';
import { RedisKeys } from '../../platform/redis/keys.js';
import { loadScript, RedisScripts } from '../../platform/redis/redis-scripts.js';
import {
  ACCESS_MAX_AGE_MS,
  IN_FLIGHT_DEADLINE_MS,
  MAX_HOT_BYTES,
  MAX_HOT_MESSAGES,
  type Doubt,
} from './group-message.redis.js';
import type { Message } from './group-message.types.js';

const OPEN = loadScript(__dirname, 'hot_open');
const CLOSE = loadScript(__dirname, 'hot_close');
const FILL = loadScript(__dirname, 'hot_fill');
const PAGE = loadScript(__dirname, 'page');
const HIDES_FILL = loadScript(__dirname, 'hides_fill');

/** A change that was never closed drops the set after this; longer than any number may be in flight. */
const OPEN_CHANGE_MS = 30_000;
const HIDES_LEASE_SECONDS = 30;
/** A number that has been in flight for longer may be a stored message that nobody settled. */
const FRESH_MS = 1_000;
/** A tenant's hot sets; with 1 MiB each they bound what it may take. */
const MAX_HOT_TOPICS = 64;

export interface PageQuery {
  readonly direction: 'after' | 'before';
  /** Exclusive; null = newest. */
  readonly bound: number | null;
  readonly limit: number;
  readonly maxBytes: number;
  /** Is this a topic that should have a hot set? */
  readonly hot: boolean;
}

interface Heads {
  /** Nothing at or below it may be read. */
  readonly floor: number;
  readonly stableSeq: number;
  readonly lastSeq: number;
  readonly expiredEpoch: number | null;
}

export type PageReply =
  | { readonly status: 'NEEDS_ACCESS' | 'NOT_MEMBER' | 'DISMISSED' | 'NO_GROUP' }
  | { readonly status: 'DOUBT'; readonly floor: number; readonly doubt: Doubt; readonly epoch: number }
  | ({
      readonly status: 'HOT';
      readonly messages: Message[];
      readonly examined: number;
      readonly hasMore: boolean;
    } & Heads)
  | ({
      readonly status: 'COLD';
      /** Rows read from now on may be filled in under it; null = not. */
      readonly generation: string | null;
      readonly reason: string;
      /** The reader's own deletions in this topic. */
      readonly hides: 'none' | 'some' | 'unknown';
      /** To fill them under, when unknown. */
      readonly hidesToken: string;
    } & Heads);

/** A member of the hot set; a hole has version 0. */
export const hotMember = (message: Message): string => `${message.version}:${JSON.stringify(message)}`;
export const hotHole = (seq: number): string => `0:${seq}`;

/** Keys and scripts of the hot set, which only accelerates: whatever it lacks comes from MySQL. */
@Injectable()
export class HotRedis {
  private readonly ttlSeconds: number;
  private readonly hidesTtlSeconds: number;

  constructor(
    private readonly keys: RedisKeys,
    private readonly scripts: RedisScripts,
    @Inject(ENV) env: Pick<Env, 'HOT_MESSAGE_TTL_SECONDS' | 'CACHE_TTL_SECONDS'>,
  ) {
    this.ttlSeconds = env.HOT_MESSAGE_TTL_SECONDS;
    this.hidesTtlSeconds = env.CACHE_TTL_SECONDS;
  }

  /** Before a change: the copy goes and nothing is served or filled until it is closed. @throws RedisUnavailable */
  async open(tenant: TenantId, topic: Topic, seq: Seq, token: string): Promise<void> {
    await this.scripts.run(OPEN, this.hotKeys(tenant, topic), [seq, token, OPEN_CHANGE_MS, this.ttlSeconds]);
  }

  /** After it: committed with its new form, or known not to be committed. @throws RedisUnavailable */
  async close(tenant: TenantId, topic: Topic, seq: Seq, token: string, message: Message | null): Promise<void> {
    await this.scripts.run(CLOSE, this.hotKeys(tenant, topic), [
      seq,
      token,
      message ? hotMember(message) : '',
      this.ttlSeconds,
      MAX_HOT_MESSAGES,
      MAX_HOT_BYTES,
    ]);
  }

  /** @param members by seq. @throws RedisUnavailable */
  async fill(tenant: TenantId, topic: Topic, generation: string, members: ReadonlyMap<number, string>): Promise<void> {
    await this.scripts.run(FILL, this.hotKeys(tenant, topic), [
      generation,
      this.ttlSeconds,
      MAX_HOT_MESSAGES,
      MAX_HOT_BYTES,
      ...[...members].flat(),
    ]);
  }

  /** @throws RedisUnavailable */
  async page(actor: Actor, topic: Topic, query: PageQuery): Promise<PageReply> {
    const params = { t: actor.tenant, topic };
    const keys = [
      this.keys.of('topicLastSeq', params),
      this.keys.of('topicInflight', params),
      this.keys.of('topicInflightDeadline', params),
      ...this.hotKeys(actor.tenant, topic),
      this.keys.of('groupAccess', params),
      this.hidesKey(actor.tenant, topic, actor.uid),
    ];
    const reply = (await this.scripts.run(PAGE, keys, [
      actor.uid,
      ACCESS_MAX_AGE_MS,
      query.direction,
      query.bound ?? '',
      query.limit,
      query.maxBytes,
      query.hot ? 1 : 0,
      this.ttlSeconds,
      randomUUID(),
      HIDES_LEASE_SECONDS,
      IN_FLIGHT_DEADLINE_MS - FRESH_MS,
    ])) as string[];
    return decodePage(reply, query.direction);
  }

  /** @throws RedisUnavailable */
  async fillHides(tenant: TenantId, topic: Topic, uid: UserId, token: string, seqs: readonly number[]): Promise<void> {
    await this.scripts.run(HIDES_FILL, [this.hidesKey(tenant, topic, uid)], [token, this.hidesTtlSeconds, ...seqs]);
  }

  /** Removes what is known of a reader's deletions, and every lease to fill it. @throws RedisUnavailable */
  async forgetHides(tenant: TenantId, topic: Topic, uid: UserId): Promise<void> {
    const key = this.hidesKey(tenant, topic, uid);
    await this.scripts.command('hides_unlink', (client) => client.unlink(key));
  }

  /** Notes that a topic's hot set is in use; the sets that were not used for longest go when a tenant has too many. */
  async touch(tenant: TenantId, topic: Topic): Promise<void> {
    const index = this.keys.of('hotIndex', { t: tenant });
    await this.scripts.command('hot_touch', (client) => client.zadd(index, Date.now(), topic));
    await this.scripts.command('hot_expire', (client) => client.expire(index, 86_400));
    const count = await this.scripts.command('hot_count', (client) => client.zcard(index));
    if (count <= MAX_HOT_TOPICS) return;
    const cold = await this.scripts.command('hot_coldest', (client) => client.zpopmin(index, count - MAX_HOT_TOPICS));
    for (let at = 0; at < cold.length; at += 2) {
      const key = this.keys.of('topicHot', { t: tenant, topic: String(cold[at]) });
      await this.scripts.command('hot_drop', (client) => client.unlink(key));
    }
  }

  private hotKeys(tenant: TenantId, topic: Topic): string[] {
    const params = { t: tenant, topic };
    return [this.keys.of('topicHot', params), this.keys.of('topicHotMeta', params)];
  }

  private hidesKey(tenant: TenantId, topic: Topic, uid: UserId): string {
    return this.keys.of('topicHides', { t: tenant, topic, uid });
  }
}

function decodePage(reply: string[], direction: 'after' | 'before'): PageReply {
  const [status, floor, stable, last, doubt, epoch] = reply;
  switch (status) {
    case 'NEEDS_ACCESS':
    case 'NOT_MEMBER':
    case 'DISMISSED':
    case 'NO_GROUP':
      return { status };
    case 'DOUBT':
      return { status, floor: Number(floor), doubt: stable as Doubt, epoch: Number(last) };
    case 'HOT':
    case 'COLD': {
      const heads: Heads = {
        floor: Number(floor),
        stableSeq: Number(stable),
        lastSeq: Number(last),
        expiredEpoch: doubt === 'expired' ? Number(epoch) : null,
      };
      if (status === 'COLD') {
        const [generation, reason, hides, hidesToken] = reply.slice(6);
        return {
          status,
          ...heads,
          generation: generation || null,
          reason,
          hides: hides as 'none' | 'some' | 'unknown',
          hidesToken,
        };
      }
      const messages = reply.slice(8).map((json) => JSON.parse(json) as Message);
      if (direction === 'before') messages.reverse();
      return { status, ...heads, messages, examined: Number(reply[6]), hasMore: reply[7] === '1' };
    }
    default:
      throw new Error(`page answered ${status}`);
  }
}
