import { Injectable } from '@nestjs/common';
import type { TenantId } from '../../platform/ids/ids.js';
import { RedisKeys } from '../../platform/redis/keys.js';
import { LeaseCaches } from '../../platform/redis/lease-caches.js';
import type { ValueCache } from '../../platform/redis/value-cache.js';
import type { Privacy, UserProfile } from './user.types.js';

export const PROFILE_TTL_SECONDS = 30 * 60;
/** Of a user who went offline: others go on looking at what he wrote. */
export const OFFLINE_PROFILE_TTL_SECONDS = 2 * 60 * 60;

/** What is read of users all the time. Public fields only: no hash, no status, nothing of a login. */
@Injectable()
export class UserCaches {
  readonly profiles: ValueCache<UserProfile>;
  /** Login name to uid. */
  readonly accounts: ValueCache<string>;
  readonly privacy: ValueCache<Privacy>;

  constructor(keys: RedisKeys, caches: LeaseCaches) {
    const ttlSeconds = PROFILE_TTL_SECONDS;
    const profileKey = (t: TenantId, uid: string): string => keys.of('userProfile', { t, uid });
    const accountKey = (t: TenantId, account: string): string => keys.of('accountUid', { t, account });
    const privacyKey = (t: TenantId, uid: string): string => keys.of('userPrivacy', { t, uid });
    this.profiles = caches.values({ name: 'profile', keyOf: profileKey, ttlSeconds });
    this.accounts = caches.values({ name: 'account', keyOf: accountKey, ttlSeconds });
    this.privacy = caches.values({ name: 'privacy', keyOf: privacyKey, ttlSeconds });
  }
}
