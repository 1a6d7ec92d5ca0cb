import { Injectable } from '@nestjs/common';
import type { TenantId, Topic, UserId } from '../../platform/ids/ids.js';
import { KeyRemovals } from '../../platform/redis/key-removals.js';
import { GroupAccessCache, UserTopicsCache } from './group.redis.js';

/**
 * Removes what is cached of rights in a group after a change was committed: at once, or as soon as Redis answers again.
 * Until then `acl_version` keeps old access records from letting a message in.
 */
@Injectable()
export class AccessInvalidation {
  constructor(
    private readonly removals: KeyRemovals,
    private readonly access: GroupAccessCache,
    private readonly topics: UserTopicsCache,
  ) {}

  /**
   * @param uids who came or went: their lists of groups go, too
   * @returns whether all of it is gone now; when not, it goes later by itself. Never throws.
   */
  invalidate(tenant: TenantId, topic: Topic, uids: readonly UserId[] = []): Promise<boolean> {
    return this.removals.remove([
      this.access.keyOf(tenant, topic),
      ...uids.map((uid) => this.topics.keyOf(tenant, uid)),
    ]);
  }
}
