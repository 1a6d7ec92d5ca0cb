import type { EntityManager } from 'typeorm';
import type { Topic, UserId } from '../../platform/ids/ids.js';
import { groupIdOf } from '../../platform/ids/topic.js';
import type { GroupRole } from './group.types.js';
import { sqlId, sqlIds } from './sql-id.js';

export interface LockedGroup {
  readonly id: string;
  readonly ownerUid: UserId;
  readonly state: 'active' | 'dismissed';
  readonly memberCount: number;
}

export interface MemberRow {
  readonly uid: UserId;
  readonly role: GroupRole;
  readonly state: 'active' | 'left' | 'kicked';
}

/** Locks the group's row: all changes of one group happen one after the other. Null when there is none. */
export async function lockGroup(tx: EntityManager, topic: Topic): Promise<LockedGroup | null> {
  const [row] = await tx.query<{ id: string; owner_uid: UserId; state: LockedGroup['state']; member_count: number }[]>(
    'SELECT id, owner_uid, state, member_count FROM im_groups WHERE id = ? FOR UPDATE',
    [sqlId(groupIdOf(topic))],
  );
  return row ? { id: row.id, ownerUid: row.owner_uid, state: row.state, memberCount: row.member_count } : null;
}

/** Locks the rows of these users, those who left included. */
export async function lockMembers(
  tx: EntityManager,
  groupId: string,
  uids: readonly UserId[],
): Promise<Map<UserId, MemberRow>> {
  const rows = await tx.query<MemberRow[]>(
    'SELECT uid, role, state FROM im_group_members WHERE group_id = ? AND uid IN (?) ORDER BY uid FOR UPDATE',
    [sqlId(groupId), sqlIds(uids)],
  );
  return new Map(rows.map((row) => [row.uid, row]));
}

/** Those of `uids` that are no users of this tenant or may not act. */
export async function unusableUsers(tx: EntityManager, uids: readonly UserId[]): Promise<UserId[]> {
  if (uids.length === 0) return [];
  const rows = await tx.query<{ id: UserId }[]>("SELECT id FROM im_users WHERE id IN (?) AND status = 'active'", [
    sqlIds(uids),
  ]);
  const usable = new Set(rows.map((row) => row.id));
  return uids.filter((uid) => !usable.has(uid));
}

/** New members, in the order of their uids; a plain INSERT, since the group's lock excludes duplicates. */
export async function insertMembers(
  tx: EntityManager,
  groupId: string,
  uids: readonly UserId[],
  role: GroupRole,
): Promise<void> {
  if (uids.length === 0) return;
  await tx.query('INSERT INTO im_group_members (group_id, uid, role) VALUES ?', [
    sqlIds(uids).map((uid) => [sqlId(groupId), uid, role]),
  ]);
}

/**
 * Lets those in again who had left, with nothing of what they were before.
 * @param keepsMutes a mute that has not ended goes on
 */
export async function reviveMembers(
  tx: EntityManager,
  groupId: string,
  uids: readonly UserId[],
  keepsMutes: boolean,
): Promise<void> {
  if (uids.length === 0) return;
  const mute = keepsMutes ? 'IF(muted_until > CURRENT_TIMESTAMP(3), muted_until, NULL)' : 'NULL';
  await tx.query(
    `UPDATE im_group_members
     SET role = 'member', state = 'active', nickname = '', muted_until = ${mute},
         joined_at = CURRENT_TIMESTAMP(3), joined_seq = 0, left_at = NULL
     WHERE group_id = ? AND uid IN (?)`,
    [sqlId(groupId), sqlIds(uids)],
  );
}

/**
 * Notes the newest stored seq for those who joined just now. Called while the topic's row is locked exclusively, so no
 * message is committing meanwhile.
 */
export async function storeJoinedSeq(tx: EntityManager, topic: Topic, uids: readonly UserId[]): Promise<void> {
  if (uids.length === 0) return;
  const [{ seq }] = await tx.query<{ seq: string }[]>(
    'SELECT COALESCE(MAX(seqid), 0) AS seq FROM im_group_messages WHERE topic = ?',
    [topic],
  );
  if (Number(seq) === 0) return;
  await tx.query('UPDATE im_group_members SET joined_seq = ? WHERE group_id = ? AND uid IN (?)', [
    Number(seq),
    sqlId(groupIdOf(topic)),
    sqlIds(uids),
  ]);
}

/** His mute stays in the row: who leaves and comes back by himself does not end it. */
export async function removeMember(
  tx: EntityManager,
  groupId: string,
  uid: UserId,
  state: 'left' | 'kicked',
): Promise<void> {
  await tx.query(
    `UPDATE im_group_members
     SET state = ?, role = 'member', left_at = CURRENT_TIMESTAMP(3)
     WHERE group_id = ? AND uid = ?`,
    [state, sqlId(groupId), sqlId(uid)],
  );
}

export interface MemberPatch {
  readonly role?: GroupRole;
  readonly mutedUntil?: Date | null;
  readonly nickname?: string;
}

export async function patchMember(tx: EntityManager, groupId: string, uid: UserId, patch: MemberPatch): Promise<void> {
  const columns = { role: patch.role, muted_until: patch.mutedUntil, nickname: patch.nickname };
  const given = Object.entries(columns).filter(([, value]) => value !== undefined);
  if (given.length === 0) return;
  await tx.query(
    `UPDATE im_group_members SET ${given.map(([name]) => `${name} = ?`).join(', ')} WHERE group_id = ? AND uid = ?`,
    [...given.map(([, value]) => value), sqlId(groupId), sqlId(uid)],
  );
}

/** @param by may be negative */
export async function countMembers(tx: EntityManager, groupId: string, by: number): Promise<void> {
  await tx.query('UPDATE im_groups SET member_count = member_count + ? WHERE id = ?', [by, sqlId(groupId)]);
}

export async function setOwner(tx: EntityManager, groupId: string, uid: UserId): Promise<void> {
  await tx.query('UPDATE im_groups SET owner_uid = ? WHERE id = ?', [sqlId(uid), sqlId(groupId)]);
}

export async function markDismissed(tx: EntityManager, groupId: string): Promise<void> {
  await tx.query("UPDATE im_groups SET state = 'dismissed', dismissed_at = CURRENT_TIMESTAMP(3) WHERE id = ?", [
    sqlId(groupId),
  ]);
}
