import type { EntityManager } from 'typeorm';
import type { Querying } from '../../platform/mysql/writer-pool.js';
import type { UserId } from '../../platform/ids/ids.js';
import type { TenantDb } from '../../platform/mysql/tenant-db.js';
import type { RelationList, RequestDirection, RequestState } from './relation.types.js';

/** Table and column of the other one, for each list. */
const LISTS: Readonly<Record<RelationList, { readonly table: string; readonly other: string }>> = {
  friends: { table: 'im_friends', other: 'friend_uid' },
  blocklist: { table: 'im_blocks', other: 'blocked_uid' },
  following: { table: 'im_follows', other: 'followed_uid' },
};

export interface RelationRow {
  readonly other: UserId;
  readonly created_at: Date;
}

export interface RequestRow {
  readonly id: string;
  readonly from_uid: UserId;
  readonly to_uid: UserId;
  readonly message: string;
  readonly state: RequestState;
  readonly created_at: Date;
}

/** The whole lists of these users. */
export async function selectSets(
  db: TenantDb,
  list: RelationList,
  uids: readonly string[],
): Promise<Map<string, Set<string>>> {
  const { table, other } = LISTS[list];
  const sets = new Map(uids.map((uid) => [uid, new Set<string>()]));
  const rows = await db.query<{ uid: string; other: string }>(
    `SELECT uid, ${other} AS other FROM ${table} WHERE uid IN (?)`,
    [uids.map(BigInt)],
  );
  for (const row of rows) sets.get(row.uid)?.add(row.other);
  return sets;
}

/** One page of a list, in the order of the others' ids. */
export function selectList(
  db: TenantDb,
  list: RelationList,
  uid: UserId,
  page: { readonly after: string; readonly limit: number },
): Promise<RelationRow[]> {
  const { table, other } = LISTS[list];
  return db.query(
    `SELECT ${other} AS other, created_at FROM ${table} WHERE uid = ? AND ${other} > ? ORDER BY ${other} LIMIT ?`,
    [BigInt(uid), BigInt(page.after), page.limit],
  );
}

export async function countList(tx: EntityManager, list: RelationList, uid: UserId): Promise<number> {
  const [{ size }] = await tx.query<{ size: string }[]>(
    `SELECT COUNT(*) AS size FROM ${LISTS[list].table} WHERE uid = ?`,
    [BigInt(uid)],
  );
  return Number(size);
}

/** Are both there, and may the second act? Locks their rows: changes between two users happen one after the other. */
export async function lockPair(tx: EntityManager, a: UserId, b: UserId): Promise<boolean> {
  const rows = await tx.query<{ id: string; status: string }[]>(
    'SELECT id, status FROM im_users WHERE id IN (?) ORDER BY id FOR UPDATE',
    [[BigInt(a), BigInt(b)]],
  );
  return rows.some((row) => row.id === a) && rows.some((row) => row.id === b && row.status === 'active');
}

export async function isBlockedEitherWay(tx: Querying, a: UserId, b: UserId): Promise<boolean> {
  const [x, y] = [BigInt(a), BigInt(b)];
  const rows = await tx.query<unknown[]>(
    'SELECT 1 FROM im_blocks WHERE (uid = ? AND blocked_uid = ?) OR (uid = ? AND blocked_uid = ?) LIMIT 1',
    [x, y, y, x],
  );
  return rows.length > 0;
}

export async function isFriend(tx: EntityManager, a: UserId, b: UserId): Promise<boolean> {
  const rows = await tx.query<unknown[]>('SELECT 1 FROM im_friends WHERE uid = ? AND friend_uid = ?', [
    BigInt(a),
    BigInt(b),
  ]);
  return rows.length > 0;
}

export async function insertFriends(tx: EntityManager, a: UserId, b: UserId): Promise<void> {
  const [x, y] = [BigInt(a), BigInt(b)];
  await tx.query('INSERT INTO im_friends (uid, friend_uid) VALUES (?, ?), (?, ?) ON DUPLICATE KEY UPDATE uid = uid', [
    x,
    y,
    y,
    x,
  ]);
}

export async function deleteFriends(tx: EntityManager, a: UserId, b: UserId): Promise<void> {
  const [x, y] = [BigInt(a), BigInt(b)];
  await tx.query('DELETE FROM im_friends WHERE (uid = ? AND friend_uid = ?) OR (uid = ? AND friend_uid = ?)', [
    x,
    y,
    y,
    x,
  ]);
}

export async function insertBlock(tx: EntityManager, uid: UserId, blocked: UserId): Promise<void> {
  await tx.query('INSERT INTO im_blocks (uid, blocked_uid) VALUES (?, ?) ON DUPLICATE KEY UPDATE uid = uid', [
    BigInt(uid),
    BigInt(blocked),
  ]);
}

export async function deleteBlock(tx: EntityManager, uid: UserId, blocked: UserId): Promise<void> {
  await tx.query('DELETE FROM im_blocks WHERE uid = ? AND blocked_uid = ?', [BigInt(uid), BigInt(blocked)]);
}

export async function insertFollow(tx: EntityManager, uid: UserId, followed: UserId): Promise<void> {
  await tx.query('INSERT INTO im_follows (uid, followed_uid) VALUES (?, ?) ON DUPLICATE KEY UPDATE uid = uid', [
    BigInt(uid),
    BigInt(followed),
  ]);
}

export async function deleteFollow(tx: EntityManager, uid: UserId, followed: UserId): Promise<void> {
  await tx.query('DELETE FROM im_follows WHERE uid = ? AND followed_uid = ?', [BigInt(uid), BigInt(followed)]);
}

const REQUEST = 'id, from_uid, to_uid, message, state, created_at';

export async function requestOf(tx: EntityManager, from: UserId, to: UserId): Promise<RequestRow | undefined> {
  const sql = `SELECT ${REQUEST} FROM im_friend_requests WHERE from_uid = ? AND to_uid = ?`;
  return (await tx.query<RequestRow[]>(sql, [BigInt(from), BigInt(to)]))[0];
}

export async function requestById(tx: EntityManager, id: string): Promise<RequestRow | undefined> {
  return (await tx.query<RequestRow[]>(`SELECT ${REQUEST} FROM im_friend_requests WHERE id = ?`, [BigInt(id)]))[0];
}

/** Asks, or asks again in the row of an earlier request of the same pair. */
export async function putRequest(tx: EntityManager, from: UserId, to: UserId, message: string): Promise<void> {
  await tx.query(
    `INSERT INTO im_friend_requests (from_uid, to_uid, message) VALUES (?, ?, ?)
     ON DUPLICATE KEY UPDATE message = VALUES(message), state = 'pending',
       created_at = CURRENT_TIMESTAMP(3), settled_at = NULL`,
    [BigInt(from), BigInt(to), message],
  );
}

/** Settles what is pending between two users, in both directions. */
export async function settleRequests(tx: EntityManager, a: UserId, b: UserId, state: RequestState): Promise<void> {
  const [x, y] = [BigInt(a), BigInt(b)];
  await tx.query(
    `UPDATE im_friend_requests SET state = ?, settled_at = CURRENT_TIMESTAMP(3)
     WHERE state = 'pending' AND ((from_uid = ? AND to_uid = ?) OR (from_uid = ? AND to_uid = ?))`,
    [state, x, y, y, x],
  );
}

/** One page of pending requests, newest first. */
export function selectRequests(
  db: TenantDb,
  uid: UserId,
  direction: RequestDirection,
  page: { readonly before: string | null; readonly limit: number },
): Promise<RequestRow[]> {
  const column = direction === 'incoming' ? 'to_uid' : 'from_uid';
  return db.query(
    `SELECT ${REQUEST} FROM im_friend_requests WHERE ${column} = ? AND state = 'pending'
     ${page.before === null ? '' : 'AND id < ?'} ORDER BY id DESC LIMIT ?`,
    [BigInt(uid), ...(page.before === null ? [] : [BigInt(page.before)]), page.limit],
  );
}
