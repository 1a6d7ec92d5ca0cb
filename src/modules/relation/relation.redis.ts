import { Inject, Injectable } from '@nestjs/common';
import { ENV, type Env } from '../../platform/env/env.js';
import type { TenantId } from '../../platform/ids/ids.js';
import { RedisKeys } from '../../platform/redis/keys.js';
import { LeaseCaches } from '../../platform/redis/lease-caches.js';
import type { SetCache } from '../../platform/redis/set-cache.js';

/** Who is in whose lists, as sets that know whether they are whole. */
@Injectable()
export class RelationCaches {
  readonly friends: SetCache;
  readonly blocks: SetCache;
  readonly follows: SetCache;

  constructor(keys: RedisKeys, caches: LeaseCaches, @Inject(ENV) env: Pick<Env, 'CACHE_TTL_SECONDS'>) {
    const ttlSeconds = env.CACHE_TTL_SECONDS;
    const friendsKey = (t: TenantId, uid: string): string => keys.of('relationFriends', { t, uid });
    const blocksKey = (t: TenantId, uid: string): string => keys.of('relationBlocks', { t, uid });
    const followsKey = (t: TenantId, uid: string): string => keys.of('relationFollows', { t, uid });
    this.friends = caches.sets({ name: 'friends', keyOf: friendsKey, ttlSeconds });
    this.blocks = caches.sets({ name: 'blocklist', keyOf: blocksKey, ttlSeconds });
    this.follows = caches.sets({ name: 'following', keyOf: followsKey, ttlSeconds });
  }
}
