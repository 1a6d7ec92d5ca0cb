import type { EntityManager } from 'typeorm';
import type { UserId } from '../../platform/ids/ids.js';
import type { TenantDb } from '../../platform/mysql/tenant-db.js';
import { sqlId } from './sql-id.js';

export interface AnnouncementText {
  readonly title: string;
  readonly content: string;
}

export interface AnnouncementRow extends AnnouncementText {
  readonly id: string;
  readonly version: number;
  readonly created_by: UserId;
  readonly updated_by: UserId;
  readonly created_at: Date;
  readonly updated_at: Date;
  /** Version that the one who asks has confirmed. */
  readonly confirmed: number | null;
}

export interface ConfirmRow {
  readonly uid: UserId;
  readonly confirmed_at: Date | null;
}

export interface VersionRow extends AnnouncementText {
  readonly version: number;
  readonly created_by: UserId;
  readonly created_at: Date;
}

const COLUMNS = 'a.id, a.version, a.title, a.content, a.created_by, a.updated_by, a.created_at, a.updated_at';

export async function insertAnnouncement(
  tx: EntityManager,
  groupId: string,
  by: UserId,
  { title, content }: AnnouncementText,
): Promise<string> {
  const now = new Date();
  const result = await tx.query<{ insertId: string | number }>(
    `INSERT INTO im_group_announcements
       (group_id, title, content, created_by, updated_by, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
    [sqlId(groupId), title, content, sqlId(by), sqlId(by), now, now],
  );
  const id = String(result.insertId);
  await insertVersion(tx, id, 1, by, { title, content });
  return id;
}

async function insertVersion(
  tx: EntityManager,
  id: string,
  version: number,
  by: UserId,
  text: AnnouncementText,
): Promise<void> {
  await tx.query(
    `INSERT INTO im_group_announcement_versions
       (announcement_id, version, title, content, created_by, created_at) VALUES (?, ?, ?, ?, ?, ?)`,
    [sqlId(id), version, text.title, text.content, sqlId(by), new Date()],
  );
}

export interface PresentAnnouncement extends AnnouncementText {
  readonly version: number;
  readonly created_by: UserId;
}

/** An announcement that was not deleted, in the group that it belongs to. */
export async function announcementIn(
  tx: EntityManager,
  groupId: string,
  id: string,
): Promise<PresentAnnouncement | undefined> {
  const rows = await tx.query<PresentAnnouncement[]>(
    'SELECT title, content, version, created_by FROM im_group_announcements WHERE group_id = ? AND id = ? AND deleted_at IS NULL',
    [sqlId(groupId), sqlId(id)],
  );
  return rows[0];
}

export async function updateAnnouncement(
  tx: EntityManager,
  id: string,
  version: number,
  by: UserId,
  text: AnnouncementText,
): Promise<void> {
  await tx.query(
    `UPDATE im_group_announcements SET version = ?, title = ?, content = ?, updated_by = ?, updated_at = ? WHERE id = ?`,
    [version, text.title, text.content, sqlId(by), new Date(), sqlId(id)],
  );
  await insertVersion(tx, id, version, by, text);
}

export async function deleteAnnouncement(tx: EntityManager, groupId: string, id: string): Promise<void> {
  await tx.query(
    'UPDATE im_group_announcements SET deleted_at = ? WHERE group_id = ? AND id = ? AND deleted_at IS NULL',
    [new Date(), sqlId(groupId), sqlId(id)],
  );
}

/** Newest first. */
export function selectAnnouncements(
  db: TenantDb,
  groupId: string,
  uid: UserId,
  page: { readonly before: string | null; readonly limit: number },
): Promise<AnnouncementRow[]> {
  return db.query(
    `SELECT ${COLUMNS}, c.version AS confirmed FROM im_group_announcements a
     LEFT JOIN im_group_announcement_confirms c ON c.announcement_id = a.id AND c.uid = ?
     WHERE a.group_id = ? AND a.deleted_at IS NULL ${page.before === null ? '' : 'AND a.id < ?'}
     ORDER BY a.id DESC LIMIT ?`,
    [sqlId(uid), sqlId(groupId), ...(page.before === null ? [] : [sqlId(page.before)]), page.limit],
  );
}

export function selectVersions(db: TenantDb, id: string): Promise<VersionRow[]> {
  return db.query(
    `SELECT version, title, content, created_by, created_at FROM im_group_announcement_versions
     WHERE announcement_id = ? ORDER BY version DESC LIMIT 100`,
    [sqlId(id)],
  );
}

/** An older version that comes late does not take a newer confirmation back. */
export async function putConfirm(tx: EntityManager, id: string, uid: UserId, version: number): Promise<void> {
  await tx.query(
    `INSERT INTO im_group_announcement_confirms (announcement_id, uid, version, confirmed_at) VALUES (?, ?, ?, ?)
     ON DUPLICATE KEY UPDATE confirmed_at = IF(VALUES(version) > version, VALUES(confirmed_at), confirmed_at),
       version = GREATEST(version, VALUES(version))`,
    [sqlId(id), sqlId(uid), version, new Date()],
  );
}

const CONFIRMED = 'c.announcement_id = a.id AND c.uid = m.uid AND c.version = a.version';
const MEMBERS = `FROM im_group_announcements a JOIN im_group_members m ON m.group_id = a.group_id AND m.state = 'active'
  LEFT JOIN im_group_announcement_confirms c ON ${CONFIRMED} WHERE a.id = ?`;

/** Members who have confirmed the present version, or have not, in the order of their uids. */
export function selectConfirms(
  db: TenantDb,
  id: string,
  state: 'confirmed' | 'waiting',
  page: { readonly after: string; readonly limit: number },
): Promise<ConfirmRow[]> {
  return db.query(
    `SELECT m.uid, c.confirmed_at ${MEMBERS} AND c.uid IS ${state === 'confirmed' ? 'NOT NULL' : 'NULL'} AND m.uid > ?
     ORDER BY m.uid LIMIT ?`,
    [sqlId(id), BigInt(page.after), page.limit],
  );
}

export async function countConfirms(db: TenantDb, id: string): Promise<{ confirmed: number; members: number }> {
  const [row] = await db.query<{ confirmed: string; members: string }>(
    `SELECT COUNT(c.uid) AS confirmed, COUNT(*) AS members ${MEMBERS}`,
    [sqlId(id)],
  );
  return { confirmed: Number(row.confirmed), members: Number(row.members) };
}
