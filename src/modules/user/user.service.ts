import { Injectable } from '@nestjs/common';
import { In } from 'typeorm';
import { AppError, invalid } from '../../platform/errors/app-error.js';
import { asUserId, isDecimalId, type TenantId, type UserId } from '../../platform/ids/ids.js';
import { duplicateKeyName, isDuplicate } from '../../platform/mysql/mysql-errors.js';
import { TenantDataSources } from '../../platform/mysql/tenant-data-sources.js';
import { UserEntity } from './user.entity.js';
import {
  ACCOUNT,
  type NewUser,
  type OwnProfile,
  type ProfilePatch,
  type UserCredentials,
  type UserProfile,
} from './user.types.js';

const PUBLIC_COLUMNS = { id: true, nickname: true, avatar: true, signature: true, gender: true, region: true } as const;

/** The users of a tenant. */
@Injectable()
export class UserService {
  constructor(private readonly sources: TenantDataSources) {}

  /** @throws AppError NOT_FOUND */
  async ownProfile(tenant: TenantId, uid: UserId): Promise<OwnProfile> {
    const row = isDecimalId(uid) ? await this.find(tenant, uid) : null;
    if (!row) throw new AppError('NOT_FOUND');
    return { ...toProfile(row), account: row.account };
  }

  /** @throws AppError NOT_FOUND */
  async publicProfile(tenant: TenantId, uid: UserId): Promise<UserProfile> {
    const profile = (await this.publicProfiles(tenant, [uid])).get(uid);
    if (!profile) throw new AppError('NOT_FOUND');
    return profile;
  }

  /** The public fields of the users that exist; ids without a user are missing in the map. */
  async publicProfiles(tenant: TenantId, uids: readonly UserId[]): Promise<Map<UserId, UserProfile>> {
    const ids = [...new Set(uids)];
    if (!ids.every(isDecimalId)) throw invalid('uids', 'must be decimal ids');
    if (ids.length === 0) return new Map();
    const rows = await this.sources.run(tenant, (db) =>
      db.of(UserEntity, (rows) => rows.find({ select: PUBLIC_COLUMNS, where: { id: In(ids) } })),
    );
    return new Map(rows.map((row) => [asUserId(row.id), toProfile(row)]));
  }

  /** @throws AppError NOT_FOUND */
  async patchProfile(tenant: TenantId, uid: UserId, patch: ProfilePatch): Promise<OwnProfile> {
    if (!isDecimalId(uid)) throw new AppError('NOT_FOUND');
    const { nickname, avatar, signature, gender, region } = patch;
    const given = Object.entries({ nickname, avatar, signature, gender, region }).filter(
      ([, value]) => value !== undefined,
    );
    if (given.length > 0) {
      await this.sources.run(tenant, (db) =>
        db.of(UserEntity, (rows) => rows.update({ id: uid }, Object.fromEntries(given) as ProfilePatch)),
      );
    }
    return this.ownProfile(tenant, uid);
  }

  /** For the login. Null when there is no such account. */
  async findByAccount(tenant: TenantId, account: string): Promise<UserCredentials | null> {
    if (typeof account !== 'string' || !ACCOUNT.test(account)) return null;
    const row = await this.sources.run(tenant, (db) =>
      db.of(UserEntity, (rows) =>
        rows.findOne({
          select: { id: true, status: true, passwordHash: true },
          where: { account },
        }),
      ),
    );
    return row && { uid: asUserId(row.id), passwordHash: row.passwordHash, active: row.status === 'active' };
  }

  /** Is there such a user, and may he act? */
  async isActive(tenant: TenantId, uid: UserId): Promise<boolean> {
    const row = isDecimalId(uid) ? await this.find(tenant, uid) : null;
    return row?.status === 'active';
  }

  /** @throws AppError CONFLICT when the account exists, VALIDATION_FAILED for an account that is not one */
  async create(tenant: TenantId, user: NewUser): Promise<UserId> {
    if (typeof user.account !== 'string' || !ACCOUNT.test(user.account)) {
      throw invalid('account', 'must be 3 to 64 of the characters A-Z a-z 0-9 _ . @ -');
    }
    try {
      const { account, nickname, passwordHash } = user;
      const result = await this.sources.run(tenant, (db) =>
        db.of(UserEntity, (rows) => rows.insert({ account, nickname, passwordHash })),
      );
      return asUserId(String(result.identifiers[0].id));
    } catch (error) {
      if (isDuplicate(error) && duplicateKeyName(error) === 'uq_users_account') {
        throw new AppError('CONFLICT', { message: 'This account name cannot be had. Choose another one.' });
      }
      throw error;
    }
  }

  private find(tenant: TenantId, uid: UserId): Promise<UserEntity | null> {
    return this.sources.run(tenant, (db) => db.of(UserEntity, (rows) => rows.findOneBy({ id: uid })));
  }
}

function toProfile(row: UserEntity): UserProfile {
  return {
    uid: asUserId(row.id),
    nickname: row.nickname,
    avatar: row.avatar,
    signature: row.signature,
    ...(row.gender === null ? {} : { gender: row.gender }),
    ...(row.region === null ? {} : { region: row.region }),
  };
}
