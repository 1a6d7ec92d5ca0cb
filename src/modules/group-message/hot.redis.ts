import { Inject, Injectable } from '@nestjs/common';
import { ENV, type Env } from '../../platform/env/env.js';
import type { Seq, TenantId, Topic, UserId } from '../../platform/ids/ids.js';
import { RedisKeys } from '../../platform/redis/keys.js';
import type { RedisClient } from '../../platform/redis/redis-clients.js';
import { loadScript, RedisScripts } from '../../platform/redis/redis-scripts.js';
import {
  ACCESS_MAX_AGE_MS,
  IN_FLIGHT_DEADLINE_MS,
  MAX_HOT_BYTES,
  MAX_HOT_MESSAGES,
  type Doubt,
} from './group-message.redis.js';
import type { Message } from './group-message.types.js';
import { hotMember, readCopy } from './hot-member.js';
import type { RangeQuery } from './hot-range.js';

const OPEN = loadScript(__dirname, 'hot_open');
const CLOSE = loadScript(__dirname, 'hot_close');
const FILL = loadScript(__dirname, 'hot_fill');
const FIND = loadScript(__dirname, 'hot_find');
const PAGE = loadScript(__dirname, 'page');
const HIDES_FILL = loadScript(__dirname, 'hides_fill');

/** A change that was never closed drops the set after this; longer than any number may be in flight. */
const OPEN_CHANGE_MS = 30_000;
const HIDES_LEASE_SECONDS = 30;
/** A number that has been in flight for longer may be a stored message that nobody settled. */
const FRESH_MS = 1_000;
/** More of quoted messages comes from MySQL. */
const MAX_FIND_BYTES = 256 * 1024;
/** A tenant's hot sets; with 1 MiB each they bound what it may take. */
const MAX_HOT_TOPICS = 64;

/** A reader of a page; the token is his lease to fill what is known of his own deletions. */
export interface PageReader {
  readonly uid: UserId;
  readonly hidesToken: string;
}

/** Where the set is read right after the script; null = not in the same round trip. */
export type MembersAt = Pick<RangeQuery, 'direction' | 'bound' | 'limit'>;

/** What the script said of a topic. */
export type TopicState =
  | { readonly status: 'NOBODY' }
  | { readonly status: 'DOUBT'; readonly doubt: Doubt; readonly epoch: number }
  | {
      readonly status: 'HOT' | 'COLD';
      readonly stableSeq: number;
      readonly lastSeq: number;
      /** Of a number in flight past its deadline. */
      readonly expiredEpoch: number | null;
      /** Rows read from now on may be filled in under it; null = not. */
      readonly generation: string | null;
      readonly runId: string;
    };

/** What it said of one reader. */
export type ReaderState =
  | { readonly status: 'NEEDS_ACCESS' | 'NOT_MEMBER' | 'DISMISSED' | 'NO_GROUP' }
  | {
      readonly status: 'READER';
      /** Nothing at or below it may be read. */
      readonly floor: number;
      /** His own deletions in this topic. */
      readonly hides: 'none' | 'some' | 'unknown';
    };

export interface PageReply {
  readonly topic: TopicState;
  /** In the order of the readers. */
  readonly readers: readonly ReaderState[];
  /** Of the set, in the direction of reading; null when none were asked for. */
  readonly members: readonly Buffer[] | null;
}

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

  /**
   * What some readers of a topic may read, whether its hot set may be used, and members of it, read after all that.
   * @param begin is this a topic that should have a hot set? @throws RedisUnavailable
   */
  async page(
    tenant: TenantId,
    topic: Topic,
    readers: readonly PageReader[],
    begin: boolean,
    at: MembersAt | null,
  ): Promise<PageReply> {
    const params = { t: tenant, topic };
    const keys = [
      this.keys.of('topicLastSeq', params),
      this.keys.of('topicInflight', params),
      this.keys.of('topicInflightDeadline', params),
      ...this.hotKeys(tenant, topic),
      this.keys.of('groupAccess', params),
      ...readers.map(({ uid }) => this.hidesKey(tenant, topic, uid)),
    ];
    const args = [
      ACCESS_MAX_AGE_MS,
      begin ? 1 : 0,
      this.ttlSeconds,
      HIDES_LEASE_SECONDS,
      IN_FLIGHT_DEADLINE_MS - FRESH_MS,
      ...readers.flatMap(({ uid, hidesToken }) => [uid, hidesToken]),
    ];
    const [reply, members] = at
      ? await this.scripts.runThen(PAGE, keys, args, (client) => rangeOf(client, keys[3], at))
      : [await this.scripts.run(PAGE, keys, args), null];
    const [state, ...states] = reply as string[][];
    return { topic: decodeTopic(state), readers: states.map(decodeReader), members };
  }

  /** Members that come next. @throws RedisUnavailable */
  members(tenant: TenantId, topic: Topic, at: MembersAt): Promise<Buffer[]> {
    const key = this.keys.of('topicHot', { t: tenant, topic });
    return this.scripts.command('hot_members', (client) => rangeOf(client, key, at));
  }

  /**
   * Did the reader delete one of these for himself? @returns null when that is not known any more
   * @throws RedisUnavailable
   */
  async hidesAny(
    tenant: TenantId,
    topic: Topic,
    uid: UserId,
    runId: string,
    seqs: readonly number[],
  ): Promise<boolean | null> {
    const key = this.hidesKey(tenant, topic, uid);
    const found = await this.scripts.command('hides_any', (client) =>
      client.smismember(key, `loaded:${runId}`, ...seqs.map(String)),
    );
    const [loaded, ...hidden] = found.map(Number);
    return loaded === 1 ? hidden.includes(1) : null;
  }

  /**
   * Copies by seq, null where there is known to be no message; those that are not there, or beyond the bound, are left out.
   * @throws RedisUnavailable
   */
  async find(tenant: TenantId, topic: Topic, seqs: readonly Seq[]): Promise<Map<number, Message | null>> {
    const members = (await this.scripts.run(FIND, this.hotKeys(tenant, topic), [MAX_FIND_BYTES, ...seqs])) as string[];
    return new Map(members.map(readCopy));
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

/** One member more than the page may have messages tells whether there are more. */
function rangeOf(client: RedisClient, key: string, { direction, bound, limit }: MembersAt): Promise<Buffer[]> {
  const exclusive = bound === null ? '+inf' : `(${bound}`;
  return direction === 'after'
    ? client.zrangebyscoreBuffer(key, exclusive, '+inf', 'LIMIT', 0, limit + 1)
    : client.zrevrangebyscoreBuffer(key, exclusive, '-inf', 'LIMIT', 0, limit + 1);
}

function decodeTopic([status, ...rest]: string[]): TopicState {
  switch (status) {
    case 'NOBODY':
      return { status };
    case 'DOUBT':
      return { status, doubt: rest[0] as Doubt, epoch: Number(rest[1]) };
    case 'HOT':
    case 'COLD': {
      const [stable, last, doubt, epoch, generation, runId] = rest;
      return {
        status,
        stableSeq: Number(stable),
        lastSeq: Number(last),
        expiredEpoch: doubt === 'expired' ? Number(epoch) : null,
        generation: generation || null,
        runId,
      };
    }
    default:
      throw new Error(`page answered ${status}`);
  }
}

function decodeReader([status, floor, hides]: string[]): ReaderState {
  switch (status) {
    case 'NEEDS_ACCESS':
    case 'NOT_MEMBER':
    case 'DISMISSED':
    case 'NO_GROUP':
      return { status };
    case 'READER':
      return { status, floor: Number(floor), hides: hides as 'none' | 'some' | 'unknown' };
    default:
      throw new Error(`page answered ${status} for a reader`);
  }
}
