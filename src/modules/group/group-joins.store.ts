import type { EntityManager } from 'typeorm';
import type { UserId } from '../../platform/ids/ids.js';
import type { TenantDb } from '../../platform/mysql/tenant-db.js';
import { sqlId, sqlIds } from './sql-id.js';

export type JoinState = 'pending' | 'approved' | 'rejected';

export interface JoinRequestRow {
  readonly id: string;
  readonly uid: UserId;
  readonly message: string;
  readonly state: JoinState;
  readonly created_at: Date;
}

export interface InviteRow {
  readonly code: string;
  readonly group_id: string;
  readonly created_by: UserId;
  readonly max_uses: number | null;
  readonly expires_at: Date;
}

const REQUEST = 'id, uid, message, state, created_at';

export async function joinRequestOf(
  tx: EntityManager,
  groupId: string,
  uid: UserId,
): Promise<JoinRequestRow | undefined> {
  const sql = `SELECT ${REQUEST} FROM im_group_join_requests WHERE group_id = ? AND uid = ?`;
  return (await tx.query<JoinRequestRow[]>(sql, [sqlId(groupId), sqlId(uid)]))[0];
}

export async function joinRequestById(
  tx: EntityManager,
  groupId: string,
  id: string,
): Promise<JoinRequestRow | undefined> {
  const sql = `SELECT ${REQUEST} FROM im_group_join_requests WHERE group_id = ? AND id = ?`;
  return (await tx.query<JoinRequestRow[]>(sql, [sqlId(groupId), sqlId(id)]))[0];
}

/** Asks, or asks again in the row of an earlier request. */
export async function putJoinRequest(tx: EntityManager, groupId: string, uid: UserId, message: string): Promise<void> {
  await tx.query(
    `INSERT INTO im_group_join_requests (group_id, uid, message) VALUES (?, ?, ?)
     ON DUPLICATE KEY UPDATE message = VALUES(message), state = 'pending', decided_by = NULL, decided_at = NULL,
       created_at = CURRENT_TIMESTAMP(3)`,
    [sqlId(groupId), sqlId(uid), message],
  );
}

/** Settles the pending requests that these users have. */
export async function settleJoinRequests(
  tx: EntityManager,
  groupId: string,
  uids: readonly UserId[],
  state: 'approved' | 'rejected',
  by: UserId,
): Promise<void> {
  if (uids.length === 0) return;
  await tx.query(
    `UPDATE im_group_join_requests SET state = ?, decided_by = ?, decided_at = CURRENT_TIMESTAMP(3)
     WHERE group_id = ? AND uid IN (?) AND state = 'pending'`,
    [state, sqlId(by), sqlId(groupId), sqlIds(uids)],
  );
}

/** Pending requests, oldest first. */
export function selectJoinRequests(
  db: TenantDb,
  groupId: string,
  page: { readonly after: string; readonly limit: number },
): Promise<JoinRequestRow[]> {
  return db.query(
    `SELECT ${REQUEST} FROM im_group_join_requests
     WHERE group_id = ? AND state = 'pending' AND id > ? ORDER BY id LIMIT ?`,
    [sqlId(groupId), BigInt(page.after), page.limit],
  );
}

export async function needsApproval(tx: EntityManager, groupId: string): Promise<boolean> {
  const sql = 'SELECT join_approval FROM im_group_settings WHERE group_id = ?';
  const [row] = await tx.query<{ join_approval: number }[]>(sql, [sqlId(groupId)]);
  return row?.join_approval !== 0;
}

export async function insertInvite(
  tx: EntityManager,
  invite: {
    readonly code: string;
    readonly groupId: string;
    readonly by: UserId;
    readonly maxUses: number | null;
    readonly expiresAt: Date;
  },
): Promise<void> {
  await tx.query(
    'INSERT INTO im_group_invites (code, group_id, created_by, max_uses, expires_at) VALUES (?, ?, ?, ?, ?)',
    [invite.code, sqlId(invite.groupId), sqlId(invite.by), invite.maxUses, invite.expiresAt],
  );
}

/** Codes are compared byte for byte. */
export async function selectInviteGroup(db: TenantDb, code: string): Promise<string | null> {
  const [row] = await db.query<{ group_id: string }>('SELECT group_id FROM im_group_invites WHERE code = ?', [code]);
  return row?.group_id ?? null;
}

/** Locks the invite, if it may still be used. */
export async function lockUsableInvite(tx: EntityManager, code: string): Promise<InviteRow | undefined> {
  const rows = await tx.query<InviteRow[]>(
    `SELECT code, group_id, created_by, max_uses, expires_at FROM im_group_invites
     WHERE code = ? AND revoked_at IS NULL AND expires_at > CURRENT_TIMESTAMP(3)
       AND (max_uses IS NULL OR used < max_uses) FOR UPDATE`,
    [code],
  );
  return rows[0];
}

export async function countInviteUse(tx: EntityManager, code: string): Promise<void> {
  await tx.query('UPDATE im_group_invites SET used = used + 1 WHERE code = ?', [code]);
}

export async function inviterOf(tx: EntityManager, groupId: string, code: string): Promise<UserId | null> {
  const sql = 'SELECT created_by FROM im_group_invites WHERE code = ? AND group_id = ?';
  const [row] = await tx.query<{ created_by: UserId }[]>(sql, [code, sqlId(groupId)]);
  return row?.created_by ?? null;
}

export async function revokeInvite(tx: EntityManager, code: string): Promise<void> {
  await tx.query('UPDATE im_group_invites SET revoked_at = COALESCE(revoked_at, CURRENT_TIMESTAMP(3)) WHERE code = ?', [
    code,
  ]);
}
