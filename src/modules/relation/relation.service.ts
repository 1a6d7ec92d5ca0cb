import { Injectable } from '@nestjs/common';
import type { ErrorCode } from '../../platform/errors/error-table.js';
import { invalid } from '../../platform/errors/app-error.js';
import { asUserId, isDecimalId, type TenantId, type UserId } from '../../platform/ids/ids.js';
import { TenantDataSources } from '../../platform/mysql/tenant-data-sources.js';
import { FriendEntity } from './friend.entity.js';
import { FULL_SIGHT, NO_SIGHT, type PresenceSight } from './relation.types.js';

type Audience = 'everyone' | 'friends' | 'nobody';

interface SightRow {
  readonly id: string;
  readonly presence: Audience;
  readonly last_seen: Audience;
  readonly blocked: number | string;
  readonly friend: number | string;
}

const SIGHT = `
  SELECT u.id, COALESCE(p.presence, 'everyone') AS presence, COALESCE(p.last_seen, 'everyone') AS last_seen,
    (EXISTS (SELECT 1 FROM im_blocks b WHERE b.uid = u.id AND b.blocked_uid = ?)
      OR EXISTS (SELECT 1 FROM im_blocks b WHERE b.uid = ? AND b.blocked_uid = u.id)) AS blocked,
    EXISTS (SELECT 1 FROM im_friends f WHERE f.uid = u.id AND f.friend_uid = ?) AS friend
  FROM im_users u LEFT JOIN im_user_privacy p ON p.uid = u.id WHERE u.id IN (?)`;

/** Who knows whom, who wants nothing from whom, and what follows from it at every door. */
@Injectable()
export class RelationService {
  constructor(private readonly sources: TenantDataSources) {}

  /** Makes two users friends of each other, both directions or none; repeating it changes nothing. */
  async befriend(tenant: TenantId, a: UserId, b: UserId): Promise<void> {
    if (!isDecimalId(a) || !isDecimalId(b) || a === b) throw invalid('uid', 'must be the id of another user');
    await this.sources.run(tenant, (db) =>
      db.query('INSERT INTO im_friends (uid, friend_uid) VALUES (?, ?), (?, ?) ON DUPLICATE KEY UPDATE uid = uid', [
        a,
        b,
        b,
        a,
      ]),
    );
  }

  async areFriends(tenant: TenantId, a: UserId, b: UserId): Promise<boolean> {
    if (!isDecimalId(a) || !isDecimalId(b)) return false;
    return this.sources.run(tenant, (db) => db.of(FriendEntity, (rows) => rows.existsBy({ uid: a, friendUid: b })));
  }

  /** Has one of the two blocked the other? Then nothing passes between them, in either direction. */
  async blockedEitherWay(tenant: TenantId, a: UserId, b: UserId): Promise<boolean> {
    if (!isDecimalId(a) || !isDecimalId(b)) return false;
    const [x, y] = [BigInt(a), BigInt(b)];
    const sql = 'SELECT 1 FROM im_blocks WHERE (uid = ? AND blocked_uid = ?) OR (uid = ? AND blocked_uid = ?) LIMIT 1';
    const rows = await this.sources.run(tenant, (db) => db.query(sql, [x, y, y, x]));
    return rows.length > 0;
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
    const others = [...sights.keys()].filter((uid) => uid !== asker && isDecimalId(uid)).map(BigInt);
    if (others.length === 0) return sights;
    const me = BigInt(asker);
    const rows = await this.sources.run(tenant, (db) => db.query<SightRow>(SIGHT, [me, me, me, others]));
    for (const row of rows) {
      if (Number(row.blocked) === 1) continue;
      const allows = (audience: Audience): boolean =>
        audience === 'everyone' || (audience === 'friends' && Number(row.friend) === 1);
      sights.set(asUserId(row.id), { presence: allows(row.presence), lastSeen: allows(row.last_seen) });
    }
    return sights;
  }

  /** Why `a` may not write to `b` in a private chat: `NOT_FOUND` (no such user, or disabled), `BLOCKED`; null when he may. */
  async mayStartChat(tenant: TenantId, a: UserId, b: UserId): Promise<ErrorCode | null> {
    if (!isDecimalId(b) || a === b) return 'NOT_FOUND';
    const rows = await this.sources.run(tenant, (db) =>
      db.query("SELECT 1 FROM im_users WHERE id = ? AND status = 'active'", [BigInt(b)]),
    );
    if (rows.length === 0) return 'NOT_FOUND';
    return (await this.blockedEitherWay(tenant, a, b)) ? 'BLOCKED' : null;
  }
}
