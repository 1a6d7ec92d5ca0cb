import type { EntityManager } from 'typeorm';
import type { UserId } from '../../platform/ids/ids.js';
import type { TenantDb } from '../../platform/mysql/tenant-db.js';
import { sqlId, sqlIds } from './sql-id.js';

export interface BanRow {
  readonly uid: UserId;
  readonly banned_until: Date | null;
  readonly reason: string;
  readonly created_by: UserId;
  readonly created_at: Date;
}

const IN_FORCE = '(banned_until IS NULL OR banned_until > CURRENT_TIMESTAMP(3))';

/** Those of `uids` that a ban keeps out now. */
export async function bannedOf(tx: EntityManager, groupId: string, uids: readonly UserId[]): Promise<Set<UserId>> {
  if (uids.length === 0) return new Set();
  const rows = await tx.query<{ uid: UserId }[]>(
    `SELECT uid FROM im_group_bans WHERE group_id = ? AND uid IN (?) AND ${IN_FORCE}`,
    [sqlId(groupId), sqlIds(uids)],
  );
  return new Set(rows.map((row) => row.uid));
}

export async function putBan(
  tx: EntityManager,
  groupId: string,
  ban: { readonly uid: UserId; readonly by: UserId; readonly until: Date | null; readonly reason: string },
): Promise<void> {
  await tx.query(
    `INSERT INTO im_group_bans (group_id, uid, banned_until, reason, created_by) VALUES (?, ?, ?, ?, ?)
     ON DUPLICATE KEY UPDATE banned_until = VALUES(banned_until), reason = VALUES(reason),
       created_by = VALUES(created_by), created_at = CURRENT_TIMESTAMP(3)`,
    [sqlId(groupId), sqlId(ban.uid), ban.until, ban.reason, sqlId(ban.by)],
  );
}

export async function deleteBan(tx: EntityManager, groupId: string, uid: UserId): Promise<void> {
  await tx.query('DELETE FROM im_group_bans WHERE group_id = ? AND uid = ?', [sqlId(groupId), sqlId(uid)]);
}

/** Bans in force, in the order of their uids. */
export function selectBans(
  db: TenantDb,
  groupId: string,
  page: { readonly after: string; readonly limit: number },
): Promise<BanRow[]> {
  return db.query(
    `SELECT uid, banned_until, reason, created_by, created_at FROM im_group_bans
     WHERE group_id = ? AND uid > ? AND ${IN_FORCE} ORDER BY uid LIMIT ?`,
    [sqlId(groupId), BigInt(page.after), page.limit],
  );
}
