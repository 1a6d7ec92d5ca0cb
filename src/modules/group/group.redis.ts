import { createHash, randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { ENV, type Env } from '../../platform/env/env.js';
import type { TenantId, Topic, UserId } from '../../platform/ids/ids.js';
import { RedisKeys } from '../../platform/redis/keys.js';
import { LeaseCaches } from '../../platform/redis/lease-caches.js';
import { loadScript, RedisScripts } from '../../platform/redis/redis-scripts.js';
import type { ValueCache } from '../../platform/redis/value-cache.js';
import type { GroupAccess, GroupRole } from './group.types.js';

const LEASE = loadScript(__dirname, 'access_lease');
const FILL = loadScript(__dirname, 'access_fill');

/** Seconds a hash lives that holds nothing but leases: longer than any load takes. */
const LEASE_TTL_SECONDS = 30;

/**
 * The `groupAccess` hash of a group, in the slot of its topic's keys. Fields:
 *
 * | field    | value |
 * | -------- | ----- |
 * | `<uid>`  | `role|mutedUntilMs|aclVersion|floorSeq|loadedAtMs`: role `owner`, `admin`, `member`, or `-` for "no member"; 0 = not muted; nothing at or below floorSeq may be read |
 * | `#`      | `state|muteAll|aclVersion|loadedAtMs|runId`: state `active`, `dismissed` or `missing`; muteAll 0 or 1; the Redis server that it was filled on |
 * | `?<uid>` | token of the standing lease to fill `<uid>` |
 *
 * Times are milliseconds; `loadedAtMs` is Redis's own. A record older than 300 s is to be loaded again, whatever the
 * key's own time to live says, and so is one of another server: after a restored dump or a fail-over, invalidations may be
 * missing from it. Every change of the group removes the whole key, after its commit: records and leases.
 * `permission.lua` of the message pipeline reads the first two fields.
 */
@Injectable()
export class GroupAccessCache {
  private readonly ttlSeconds: number;

  constructor(
    private readonly keys: RedisKeys,
    private readonly scripts: RedisScripts,
    @Inject(ENV) env: Pick<Env, 'CACHE_TTL_SECONDS'>,
  ) {
    this.ttlSeconds = env.CACHE_TTL_SECONDS;
  }

  /** @returns the token to fill with. @throws RedisUnavailable */
  async lease(tenant: TenantId, topic: Topic, uid: UserId): Promise<string> {
    const fresh = randomBytes(12).toString('base64url');
    return String(await this.scripts.run(LEASE, [this.keyOf(tenant, topic)], [uid, fresh, LEASE_TTL_SECONDS]));
  }

  /**
   * @returns false when the lease no longer stands: what was loaded under it may be older than a change
   * @throws RedisUnavailable
   */
  async fill(tenant: TenantId, topic: Topic, uid: UserId, token: string, access: GroupAccess): Promise<boolean> {
    const floorSeq = access.historyForNewMembers ? 0 : access.joinedSeq;
    const member = `${access.role ?? '-'}|${access.mutedUntilMs}|${access.aclVersion}|${floorSeq}`;
    const group = `${access.groupState}|${access.muteAll ? 1 : 0}|${access.aclVersion}`;
    const ttlSeconds = Math.round(this.ttlSeconds * (0.9 + Math.random() * 0.2));
    const args = [uid, token, member, group, Math.max(1, ttlSeconds)];
    const reply = await this.scripts.run(FILL, [this.keyOf(tenant, topic)], args);
    switch (reply) {
      case 'FILLED':
        return true;
      case 'REFUSED':
        return false;
      default:
        throw new Error(`access_fill answered ${String(reply)}`);
    }
  }

  /** What a change of the group has to remove, records and leases, once it is committed. */
  keyOf(tenant: TenantId, topic: Topic): string {
    return this.keys.of('groupAccess', { t: tenant, topic });
  }
}

/**
 * The topics of the active groups that a user is in. A connection hears what is in here, so whatever brings him in or out
 * removes it after the commit, before it is acknowledged.
 */
@Injectable()
export class UserTopicsCache {
  private readonly lists: ValueCache<readonly Topic[]>;

  constructor(
    private readonly keys: RedisKeys,
    caches: LeaseCaches,
    @Inject(ENV) env: Pick<Env, 'CACHE_TTL_SECONDS'>,
  ) {
    const keyOf = (t: TenantId, uid: string): string => this.keyOf(t, uid as UserId);
    this.lists = caches.values({ name: 'user_topics', keyOf, ttlSeconds: env.CACHE_TTL_SECONDS });
  }

  async get(tenant: TenantId, uid: UserId, load: () => Promise<readonly Topic[]>): Promise<readonly Topic[]> {
    return (await this.lists.get(tenant, uid, load)) as readonly Topic[];
  }

  keyOf(tenant: TenantId, uid: UserId): string {
    return this.keys.of('userTopics', { t: tenant, uid });
  }
}

/** Which group an invite code belongs to, for a minute; unknown codes, too. Whether it may be used MySQL decides. */
@Injectable()
export class InviteCache {
  private readonly codes: ValueCache<string>;

  constructor(keys: RedisKeys, caches: LeaseCaches) {
    const keyOf = (t: TenantId, code: string): string => keys.of('groupInvite', { t, code });
    this.codes = caches.values({ name: 'invite', keyOf, ttlSeconds: 60 });
  }

  groupOf(tenant: TenantId, code: string, load: () => Promise<string | null>): Promise<string | null> {
    return this.codes.get(tenant, code, load);
  }
}

/** Of a member as a page snapshot keeps it; profiles have a cache of their own. */
export interface SnapshotRow {
  readonly uid: UserId;
  readonly role: GroupRole;
  readonly nickname: string;
  /** null = never muted; a past one counts no more */
  readonly mutedUntilMs: number | null;
  readonly joinedAtMs: number;
}

export interface PageSnapshot {
  /** One more than the page shows, when there are more. */
  readonly rows: readonly SnapshotRow[];
  readonly total: number;
}

/** Snapshots of one list under one version of it. */
export interface ListSnapshots {
  /** @param page names cursor and limit */
  page(page: string, load: () => Promise<PageSnapshot>): Promise<PageSnapshot>;
  /** How many are in the list: counted once for all its pages. */
  total(load: () => Promise<number>): Promise<number>;
}

/**
 * Pages of member lists under the version of the list that they were read at or after. Every change of a group raises its
 * version, so an old page is not removed: nobody asks for it any more.
 */
@Injectable()
export class MemberPageCache {
  private readonly pages: ValueCache<PageSnapshot>;
  private readonly totals: ValueCache<number>;

  constructor(keys: RedisKeys, caches: LeaseCaches) {
    const keyOf = (t: TenantId, id: string): string => {
      const [topic, version, digest] = id.split(' ');
      return keys.of('memberPage', { t, topic, version, digest });
    };
    this.pages = caches.values({ name: 'member_page', keyOf, ttlSeconds: 60 });
    this.totals = caches.values({ name: 'member_total', keyOf, ttlSeconds: 60 });
  }

  /** @param list names group and filters */
  of(tenant: TenantId, topic: Topic, version: number, list: string): ListSnapshots {
    const idOf = (what: string): string => {
      const digest = createHash('sha256').update(`${list} ${what}`).digest('base64url').slice(0, 22);
      return `${topic} ${version} ${digest}`;
    };
    return {
      page: async (page, load) => (await this.pages.get(tenant, idOf(page), load)) as PageSnapshot,
      total: async (load) => (await this.totals.get(tenant, idOf('total'), load)) as number,
    };
  }
}
