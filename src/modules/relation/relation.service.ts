import { Injectable } from '@nestjs/common';
import { invalid } from '../../platform/errors/app-error.js';
import { isDecimalId, type TenantId, type UserId } from '../../platform/ids/ids.js';
import { TenantDataSources } from '../../platform/mysql/tenant-data-sources.js';
import { FriendEntity } from './friend.entity.js';

/** Who knows whom. */
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
}
