import { Injectable } from '@nestjs/common';
import { In, type EntityManager } from 'typeorm';
import { AppError, invalid } from '../../platform/errors/app-error.js';
import { asUserId, compareIds, isDecimalId, type TenantId, type UserId } from '../../platform/ids/ids.js';
import { duplicateKeyName, isDuplicate } from '../../platform/mysql/mysql-errors.js';
import { TenantDataSources } from '../../platform/mysql/tenant-data-sources.js';
import { RedisUnavailable } from '../../platform/redis/redis-scripts.js';
import { UserEntity } from './user.entity.js';
import { OFFLINE_PROFILE_TTL_SECONDS, UserCaches } from './user.redis.js';
import {
  ACCOUNT,
  type Audience,
  type NewUser,
  type OwnProfile,
  type Privacy,
  type ProfilePatch,
  type UserCredentials,
  type UserProfile,
} from './user.types.js';

const PUBLIC_COLUMNS = { id: true, nickname: true, avatar: true, signature: true, gender: true, region: true } as const;

/** An id that no user has. */
const NOBODY = asUserId('0');

interface PrivacyRow {
  readonly id: string;
  readonly presence: Audience | null;
  readonly last_seen: Audience | null;
  readonly add_to_groups: Audience | null;
}

type SightListener = (tenant: TenantId, uid: UserId, watcher?: UserId) => void;

/** The users of a tenant. */
@Injectable()
export class UserService {
  private readonly sightListeners: SightListener[] = [];

  constructor(
    private readonly sources: TenantDataSources,
    private readonly caches: UserCaches,
  ) {}

  /** @throws AppError NOT_FOUND */
  async ownProfile(tenant: TenantId, uid: UserId): Promise<OwnProfile> {
    const row = isDecimalId(uid) ? await this.find(tenant, uid) : null;
    if (!row) throw new AppError('NOT_FOUND');
    const [privacy] = (await this.loadPrivacy(tenant, [uid])).values();
    return { ...toProfile(row), account: row.account, privacy };
  }

  /** @throws AppError NOT_FOUND */
  async publicProfile(tenant: TenantId, uid: UserId): Promise<UserProfile> {
    const profile = (await this.publicProfiles(tenant, [uid])).get(uid);
    if (!profile) throw new AppError('NOT_FOUND');
    return profile;
  }

  /** The public fields of the users that exist; ids without a user are missing in the map. One look, one query. */
  async publicProfiles(tenant: TenantId, uids: readonly UserId[]): Promise<Map<UserId, UserProfile>> {
    if (!uids.every(isDecimalId)) throw invalid('uids', 'must be decimal ids');
    const found = await this.caches.profiles.many(tenant, uids, (missing) => this.loadProfiles(tenant, missing));
    return found as Map<UserId, UserProfile>;
  }

  /** What these users let others see and do; ids without a user are missing in the map. */
  async privacyOf(tenant: TenantId, uids: readonly UserId[]): Promise<Map<UserId, Privacy>> {
    if (!uids.every(isDecimalId)) throw invalid('uids', 'must be decimal ids');
    const found = await this.caches.privacy.many(tenant, uids, (missing) => this.loadPrivacy(tenant, missing));
    return found as Map<UserId, Privacy>;
  }

  /** When users were last seen, milliseconds since the epoch; who never was is missing. */
  async lastSeen(tenant: TenantId, uids: readonly UserId[]): Promise<Map<UserId, number>> {
    const ids = uids.filter(isDecimalId);
    if (ids.length === 0) return new Map();
    const rows = await this.sources.run(tenant, (db) =>
      db.of(UserEntity, (rows) => rows.find({ select: { id: true, lastSeenAt: true }, where: { id: In(ids) } })),
    );
    return new Map(rows.flatMap(({ id, lastSeenAt }) => (lastSeenAt ? [[asUserId(id), lastSeenAt.getTime()]] : [])));
  }

  /** Writes when users were last seen, milliseconds since the epoch, in one statement. It never goes back. */
  async seen(tenant: TenantId, seen: ReadonlyMap<UserId, number>): Promise<void> {
    // In the order of the key, so that two nodes do not wait for each other.
    const rows = [...seen].filter(([uid]) => isDecimalId(uid)).sort(([a], [b]) => compareIds(a, b));
    if (rows.length === 0) return;
    const values = rows.map(() => 'SELECT ? AS id, CAST(? AS DATETIME(3)) AS at').join(' UNION ALL ');
    await this.sources.run(tenant, (db) =>
      db.query(
        `UPDATE im_users u JOIN (${values}) s ON s.id = u.id
         SET u.last_seen_at = GREATEST(COALESCE(u.last_seen_at, s.at), s.at), u.updated_at = u.updated_at`,
        rows.flatMap(([uid, seenMs]) => [BigInt(uid), new Date(seenMs)]),
      ),
    );
  }

  /** Called on this node after a change of what others may see of a user's presence, once it is committed. */
  onSightChanged(listener: SightListener): void {
    this.sightListeners.push(listener);
  }

  /**
   * To be called after a privacy setting, a friendship or a block was changed, committed, and its cached copies are gone.
   * @param watcher the only one whom it concerns; absent = everybody
   */
  sightChanged(tenant: TenantId, uid: UserId, watcher?: UserId): void {
    for (const listener of this.sightListeners) listener(tenant, uid, watcher);
  }

  /** Keeps the profile of a user who went offline for longer; without Redis there is nothing to keep. */
  async keepProfile(tenant: TenantId, uid: UserId): Promise<void> {
    await this.caches.profiles.extend(tenant, uid, OFFLINE_PROFILE_TTL_SECONDS).catch((error: unknown) => {
      if (!(error instanceof RedisUnavailable)) throw error;
    });
  }

  /**
   * @throws AppError NOT_FOUND; SHORT_STATE_UNAVAILABLE when a change of privacy is stored and old copies of it may still
   *   be read: repeating the call confirms it
   */
  async patchProfile(tenant: TenantId, uid: UserId, patch: ProfilePatch): Promise<OwnProfile> {
    if (!isDecimalId(uid)) throw new AppError('NOT_FOUND');
    const { nickname, avatar, signature, gender, region } = patch;
    const profile = withoutUndefined({ nickname, avatar, signature, gender, region });
    const privacy = withoutUndefined({ ...patch.privacy });
    const [changesProfile, changesPrivacy] = [profile, privacy].map((fields) => Object.keys(fields).length > 0);
    if (changesProfile || changesPrivacy) {
      await this.sources.run(tenant, (db) =>
        db.transaction(async (tx) => {
          if (changesProfile) await tx.update(UserEntity, { id: uid }, profile);
          if (changesPrivacy) await storePrivacy(tx, uid, privacy);
        }),
      );
    }
    if (changesProfile) await this.caches.profiles.invalidate(tenant, [uid]);
    const confirmed = !changesPrivacy || (await this.caches.privacy.invalidate(tenant, [uid]));
    if (changesPrivacy) this.sightChanged(tenant, uid);
    if (!confirmed) {
      throw new AppError('SHORT_STATE_UNAVAILABLE', {
        message: 'The change is stored but not yet confirmed on all nodes; repeat the call.',
      });
    }
    return this.ownProfile(tenant, uid);
  }

  /** Null when there is no such account. */
  async uidOf(tenant: TenantId, account: string): Promise<UserId | null> {
    if (typeof account !== 'string' || !ACCOUNT.test(account)) return null;
    const uid = await this.caches.accounts.get(tenant, account, async () => {
      const row = await this.sources.run(tenant, (db) =>
        db.of(UserEntity, (rows) => rows.findOne({ select: { id: true }, where: { account } })),
      );
      return row?.id ?? null;
    });
    return uid === null ? null : asUserId(uid);
  }

  /** For the login. Null when there is no such account, after the same work as for one that there is. */
  async findByAccount(tenant: TenantId, account: string): Promise<UserCredentials | null> {
    if (typeof account !== 'string') return null;
    const uid = (await this.uidOf(tenant, account)) ?? NOBODY;
    const row = await this.sources.run(tenant, (db) =>
      db.of(UserEntity, (rows) =>
        rows.findOne({ select: { id: true, status: true, passwordHash: true }, where: { id: uid, account } }),
      ),
    );
    return row && { uid: asUserId(row.id), passwordHash: row.passwordHash, active: row.status === 'active' };
  }

  /** Is there such a user, and may he act? */
  async isActive(tenant: TenantId, uid: UserId): Promise<boolean> {
    const row = isDecimalId(uid) ? await this.find(tenant, uid) : null;
    return row?.status === 'active';
  }

  /** For steps that need the password once more. Null when there is no such user. */
  async credentials(tenant: TenantId, uid: UserId): Promise<UserCredentials | null> {
    if (!isDecimalId(uid)) return null;
    const row = await this.sources.run(tenant, (db) =>
      db.of(UserEntity, (rows) =>
        rows.findOne({ select: { id: true, status: true, passwordHash: true }, where: { id: uid } }),
      ),
    );
    return row && { uid: asUserId(row.id), passwordHash: row.passwordHash, active: row.status === 'active' };
  }

  /** @throws AppError CONFLICT when the account or the phone is taken, VALIDATION_FAILED for an account that is not one */
  async create(tenant: TenantId, user: NewUser): Promise<UserId> {
    const uid = await this.sources.run(tenant, (db) => db.transaction((tx) => this.createIn(tx, user)));
    await this.created(tenant, uid, user.account);
    return uid;
  }

  /** As `create`, in the transaction of what allows it; `created` is called after its commit. */
  async createIn(tx: EntityManager, user: NewUser): Promise<UserId> {
    if (typeof user.account !== 'string' || !ACCOUNT.test(user.account)) {
      throw invalid('account', 'must be 3 to 64 of the characters A-Z a-z 0-9 _ . @ -');
    }
    const { account, nickname, passwordHash, phoneHash = null } = user;
    const result = await tx.insert(UserEntity, { account, nickname, passwordHash, phoneHash }).catch(refuseTaken);
    return asUserId(String(result.identifiers[0].id));
  }

  /** That there was no such user may be cached. */
  async created(tenant: TenantId, uid: UserId, account: string): Promise<void> {
    await Promise.all([
      this.caches.accounts.invalidate(tenant, [account]),
      this.caches.profiles.invalidate(tenant, [uid]),
      this.caches.privacy.invalidate(tenant, [uid]),
    ]);
  }

  /** The user who may act and to whom the phone belongs; null when there is none. Locks his row until the commit. */
  async lockByPhoneIn(tx: EntityManager, phoneHash: Buffer): Promise<UserId | null> {
    const rows = await tx.query<{ id: string; status: string }[]>(
      'SELECT id, status FROM im_users WHERE phone_hash = ? FOR UPDATE',
      [phoneHash],
    );
    return rows[0]?.status === 'active' ? asUserId(rows[0].id) : null;
  }

  /** Locks the user's row until the commit. @returns false when there is no such user, or he may not act */
  async lockIn(tx: EntityManager, uid: UserId): Promise<boolean> {
    const rows = await tx.query<unknown[]>("SELECT 1 FROM im_users WHERE id = ? AND status = 'active' FOR UPDATE", [
      uid,
    ]);
    return rows.length === 1;
  }

  /** Locks the user's row until the commit. @returns was he otherwise before? null when there is no such user */
  async setStatusIn(tx: EntityManager, uid: UserId, status: 'active' | 'disabled'): Promise<boolean | null> {
    const [row] = await tx.query<{ status: string }[]>('SELECT status FROM im_users WHERE id = ? FOR UPDATE', [uid]);
    if (!row) return null;
    if (row.status !== status) await tx.query('UPDATE im_users SET status = ? WHERE id = ?', [status, uid]);
    return row.status !== status;
  }

  /** May the user act, and is this his password's hash? Holds his row until the commit: a change of it waits, or is seen. */
  async hasPasswordIn(tx: EntityManager, uid: UserId, passwordHash: string | null): Promise<boolean> {
    const rows = await tx.query<unknown[]>(
      "SELECT 1 FROM im_users WHERE id = ? AND status = 'active' AND password_hash = ? LOCK IN SHARE MODE",
      [uid, passwordHash],
    );
    return rows.length === 1;
  }

  async setPasswordIn(tx: EntityManager, uid: UserId, passwordHash: string): Promise<void> {
    await tx.query('UPDATE im_users SET password_hash = ? WHERE id = ?', [passwordHash, uid]);
  }

  /** @throws AppError CONFLICT when the phone belongs to another account */
  async setPhoneIn(tx: EntityManager, uid: UserId, phoneHash: Buffer): Promise<void> {
    await tx.query('UPDATE im_users SET phone_hash = ? WHERE id = ?', [phoneHash, uid]).catch(refuseTaken);
  }

  private async loadProfiles(tenant: TenantId, uids: readonly string[]): Promise<Map<string, UserProfile>> {
    const rows = await this.sources.run(tenant, (db) =>
      db.of(UserEntity, (rows) => rows.find({ select: PUBLIC_COLUMNS, where: { id: In([...uids]) } })),
    );
    return new Map(rows.map((row) => [row.id, toProfile(row)]));
  }

  private async loadPrivacy(tenant: TenantId, uids: readonly string[]): Promise<Map<string, Privacy>> {
    const rows = await this.sources.run(tenant, (db) =>
      db.query<PrivacyRow>(
        `SELECT u.id, p.presence, p.last_seen, p.add_to_groups
         FROM im_users u LEFT JOIN im_user_privacy p ON p.uid = u.id WHERE u.id IN (?)`,
        [uids.map(BigInt)],
      ),
    );
    return new Map(
      rows.map((row) => [
        row.id,
        {
          presence: row.presence ?? 'everyone',
          lastSeen: row.last_seen ?? 'everyone',
          addToGroups: row.add_to_groups ?? 'everyone',
        },
      ]),
    );
  }

  private find(tenant: TenantId, uid: UserId): Promise<UserEntity | null> {
    return this.sources.run(tenant, (db) => db.of(UserEntity, (rows) => rows.findOneBy({ id: uid })));
  }
}

/** Turns a violated unique key into what to do about it. */
function refuseTaken(error: unknown): never {
  const key = isDuplicate(error) ? duplicateKeyName(error) : undefined;
  if (key === 'uq_users_account') {
    throw new AppError('CONFLICT', { message: 'This account name cannot be had. Choose another one.' });
  }
  // Told only to somebody who has just proved that the phone is his.
  if (key === 'uq_users_phone') {
    throw new AppError('CONFLICT', {
      message: 'This phone belongs to another account. Log in with it, or use another.',
    });
  }
  throw error;
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

function withoutUndefined(fields: object): Record<string, string | null> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** Makes the row or changes what is given of it. */
async function storePrivacy(tx: EntityManager, uid: UserId, patch: Partial<Privacy>): Promise<void> {
  const columns = { presence: patch.presence, last_seen: patch.lastSeen, add_to_groups: patch.addToGroups };
  const given = Object.entries(columns).filter(([, value]) => value !== undefined);
  const names = given.map(([name]) => name);
  await tx.query(
    `INSERT INTO im_user_privacy (uid, ${names.join(', ')}) VALUES (?)
     ON DUPLICATE KEY UPDATE ${names.map((name) => `${name} = VALUES(${name})`).join(', ')}`,
    [[BigInt(uid), ...given.map(([, value]) => value)]],
  );
}
