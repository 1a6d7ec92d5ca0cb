import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { ErrorCode } from '../../platform/errors/error-table.js';
import { AppError, invalid } from '../../platform/errors/app-error.js';
import { isDecimalId, type TenantId, type UserId } from '../../platform/ids/ids.js';
import { TenantDataSources } from '../../platform/mysql/tenant-data-sources.js';
import type { Querying } from '../../platform/mysql/writer-pool.js';
import type { LoadMany } from '../../platform/redis/leased-reads.js';
import { UserService } from '../user/user.service.js';
import type { Audience } from '../user/user.types.js';
import { RelationCaches } from './relation.redis.js';
import { insertFriends, isBlockedEitherWay, lockPair, selectSets } from './relation.store.js';
import { FULL_SIGHT, NO_SIGHT, type PresenceSight, type RelationContext, type RelationList } from './relation.types.js';

type Has = ReadonlySet<string>;

/**
 * Who knows whom, who wants nothing from whom, and what follows from it at every door. A change of these is acknowledged
 * only after its cached copies are gone, so what is answered here is never older than an acknowledged change.
 */
@Injectable()
export class RelationService {
  constructor(
    private readonly sources: TenantDataSources,
    private readonly users: UserService,
    private readonly caches: RelationCaches,
  ) {}

  /** Makes two users friends of each other, both directions or none; repeating it changes nothing. */
  async befriend(tenant: TenantId, a: UserId, b: UserId): Promise<void> {
    if (!isDecimalId(a) || !isDecimalId(b) || a === b) throw invalid('uid', 'must be the id of another user');
    await this.sources.run(tenant, (db) =>
      db.transaction(async (tx) => {
        if (!(await lockPair(tx, a, b))) throw new AppError('NOT_FOUND');
        await insertFriends(tx, a, b);
      }),
    );
    await this.caches.friends.invalidate(tenant, [a, b]);
    this.users.sightChanged(tenant, a, b);
    this.users.sightChanged(tenant, b, a);
  }

  async areFriends(tenant: TenantId, a: UserId, b: UserId): Promise<boolean> {
    if (!isDecimalId(a) || !isDecimalId(b)) return false;
    return this.caches.friends.has(tenant, a, b, this.loader(tenant, 'friends'));
  }

  /** Has one of the two blocked the other? Then nothing passes between them, in either direction. */
  async blockedEitherWay(tenant: TenantId, a: UserId, b: UserId): Promise<boolean> {
    if (!isDecimalId(a) || !isDecimalId(b)) return false;
    const blocks = await this.caches.blocks.among(tenant, [a, b], [a, b], this.loader(tenant, 'blocklist'));
    return blocks.get(a)?.has(b) === true || blocks.get(b)?.has(a) === true;
  }

  /** As `blockedEitherWay`, read inside the caller's transaction: what was committed before is seen. */
  blockedIn(tx: Querying, a: UserId, b: UserId): Promise<boolean> {
    return isBlockedEitherWay(tx, a, b);
  }

  /**
   * What `asker` may see of each target: blocks hide both from each other, the target's own settings decide the rest.
   * Every target is in the answer; one who is no user shows nothing.
   */
  async presenceVisibility(
    tenant: TenantId,
    asker: UserId,
    targets: readonly UserId[],
  ): Promise<Map<UserId, PresenceSight>> {
    const sights = new Map(targets.map((uid) => [uid, uid === asker ? FULL_SIGHT : NO_SIGHT]));
    const others = [...sights.keys()].filter((uid) => uid !== asker && isDecimalId(uid));
    if (others.length === 0) return sights;
    const [privacy, mine, theirs, friends] = await Promise.all([
      this.users.privacyOf(tenant, others),
      this.among(tenant, 'blocklist', asker, others),
      this.caches.blocks.among(tenant, others, [asker], this.loader(tenant, 'blocklist')),
      this.among(tenant, 'friends', asker, others),
    ]);
    for (const uid of others) {
      const wishes = privacy.get(uid);
      if (!wishes || mine.has(uid) || theirs.get(uid)?.has(asker)) continue;
      const allows = (audience: Audience): boolean =>
        audience === 'everyone' || (audience === 'friends' && friends.has(uid));
      sights.set(uid, { presence: allows(wishes.presence), lastSeen: allows(wishes.lastSeen) });
    }
    return sights;
  }

  /** Why `a` may not write to `b` in a private chat: `NOT_FOUND` (no such user, or disabled), `BLOCKED`; null when he may. */
  async mayStartChat(tenant: TenantId, a: UserId, b: UserId): Promise<ErrorCode | null> {
    if (!isDecimalId(b) || a === b || !(await this.users.isActive(tenant, b))) return 'NOT_FOUND';
    return (await this.blockedEitherWay(tenant, a, b)) ? 'BLOCKED' : null;
  }

  /**
   * Those of `uids` whom `adder` may not add to a group: blocks in either direction, or their own settings. Read inside the
   * caller's transaction, past every cache.
   */
  async refusingToBeAdded(tx: EntityManager, adder: UserId, uids: readonly UserId[]): Promise<Set<UserId>> {
    const others = uids.filter((uid) => uid !== adder).map(BigInt);
    if (others.length === 0) return new Set();
    const me = BigInt(adder);
    const rows = await tx.query<{ id: UserId }[]>(
      `SELECT u.id FROM im_users u LEFT JOIN im_user_privacy p ON p.uid = u.id
       WHERE u.id IN (?) AND (
         p.add_to_groups = 'nobody'
         OR (p.add_to_groups = 'friends'
           AND NOT EXISTS (SELECT 1 FROM im_friends f WHERE f.uid = u.id AND f.friend_uid = ?))
         OR EXISTS (SELECT 1 FROM im_blocks b WHERE b.uid = u.id AND b.blocked_uid = ?)
         OR EXISTS (SELECT 1 FROM im_blocks b WHERE b.uid = ? AND b.blocked_uid = u.id))`,
      [others, me, me, me],
    );
    return new Set(rows.map((row) => row.id));
  }

  /** Those of `others` between whom and `uid` there is a block. Read inside the caller's transaction. */
  async blockedAmong(tx: EntityManager, uid: UserId, others: readonly UserId[]): Promise<Set<UserId>> {
    if (others.length === 0) return new Set();
    const [me, ids] = [BigInt(uid), others.map(BigInt)];
    const rows = await tx.query<{ other: UserId }[]>(
      `SELECT uid AS other FROM im_blocks WHERE blocked_uid = ? AND uid IN (?)
       UNION SELECT blocked_uid FROM im_blocks WHERE uid = ? AND blocked_uid IN (?)`,
      [me, ids, me, ids],
    );
    return new Set(rows.map((row) => row.other));
  }

  /** @throws AppError NOT_FOUND */
  async context(tenant: TenantId, asker: UserId, uid: UserId): Promise<RelationContext> {
    await this.users.publicProfile(tenant, uid);
    const [friends, blocked, followed, refusal, sights] = await Promise.all([
      this.among(tenant, 'friends', asker, [uid]),
      this.among(tenant, 'blocklist', asker, [uid]),
      this.among(tenant, 'following', asker, [uid]),
      this.mayStartChat(tenant, asker, uid),
      this.presenceVisibility(tenant, asker, [uid]),
    ]);
    const sight = sights.get(uid) ?? NO_SIGHT;
    return {
      uid,
      isFriend: friends.has(uid),
      iBlocked: blocked.has(uid),
      iFollow: followed.has(uid),
      canStartChat: refusal === null,
      canSeePresence: sight.presence,
      canSeeLastSeen: sight.lastSeen,
    };
  }

  /** Which of `others` are in the user's list. */
  private async among(tenant: TenantId, list: RelationList, uid: UserId, others: readonly UserId[]): Promise<Has> {
    const cache = { friends: this.caches.friends, blocklist: this.caches.blocks, following: this.caches.follows }[list];
    const found = await cache.among(tenant, [uid], others, this.loader(tenant, list));
    return found.get(uid) as Has;
  }

  private loader(tenant: TenantId, list: RelationList): LoadMany<Has> {
    return (uids) => this.sources.run(tenant, (db) => selectSets(db, list, uids));
  }
}
