import { Inject, Injectable } from '@nestjs/common';
import { ENV, type Env } from '../../platform/env/env.js';
import type { TenantId } from '../../platform/ids/ids.js';
import { RedisKeys } from '../../platform/redis/keys.js';
import { LeaseCaches } from '../../platform/redis/lease-caches.js';
import type { ValueCache } from '../../platform/redis/value-cache.js';
import type { FavoriteRef } from './favorite.types.js';

/** The newest favourites of a user, which is what clients ask for again and again. */
@Injectable()
export class FavoriteCache {
  readonly newest: ValueCache<readonly FavoriteRef[]>;

  constructor(keys: RedisKeys, caches: LeaseCaches, @Inject(ENV) env: Pick<Env, 'CACHE_TTL_SECONDS'>) {
    const keyOf = (t: TenantId, uid: string): string => keys.of('userFavorites', { t, uid });
    this.newest = caches.values({ name: 'favorites', keyOf, ttlSeconds: env.CACHE_TTL_SECONDS });
  }
}
