import { Injectable } from '@nestjs/common';
import type { Actor, TenantId, Topic, UserId } from '../../platform/ids/ids.js';
import { groupIdOf } from '../../platform/ids/topic.js';
import { TenantDataSources } from '../../platform/mysql/tenant-data-sources.js';
import type { TenantDb } from '../../platform/mysql/tenant-db.js';
import { UserService } from '../user/user.service.js';
import type { UserProfile } from '../user/user.types.js';
import { MemberPageCache, type PageSnapshot, type SnapshotRow } from './group.redis.js';
import { GroupService } from './group.service.js';
import { GROUP_ROLES, type GroupRole } from './group.types.js';
import { MemberCursors, type MemberPosition } from './member-cursor.js';
import { sqlId } from './sql-id.js';

export interface MemberFilter {
  readonly role?: GroupRole;
  readonly status?: 'active' | 'muted';
  /** Beginning of the name that the group sees: the nickname in the group, else the user's own. */
  readonly q?: string;
}

export interface MemberPageRequest extends MemberFilter {
  readonly cursor?: string;
  readonly limit: number;
}

export interface MemberItem {
  readonly uid: UserId;
  readonly role: GroupRole;
  /** In this group; empty when he has none here. */
  readonly nickname: string;
  /** ISO 8601; null = not muted */
  readonly mutedUntil: string | null;
  readonly joinedAt: string;
  /** null when the account no longer exists */
  readonly user: UserProfile | null;
}

export interface MemberPage {
  readonly items: readonly MemberItem[];
  /** null on the last page */
  readonly nextCursor: string | null;
  /** All that the filters match. */
  readonly total: number;
}

interface MemberRow {
  readonly uid: UserId;
  readonly role: GroupRole;
  readonly nickname: string;
  readonly muted_until: Date | null;
  readonly joined_at: Date;
}

/**
 * The member list, in the order role, time of joining, uid. Pages go on behind the last member shown, so members who come
 * and go elsewhere in the list neither hide nor repeat anybody. Who changes his role meanwhile moves to another place in
 * the order, and may be shown there again or not any more; the `group:changed` event tells of him.
 */
@Injectable()
export class MemberList {
  constructor(
    private readonly databases: TenantDataSources,
    private readonly groups: GroupService,
    private readonly users: UserService,
    private readonly cursors: MemberCursors,
    private readonly pages: MemberPageCache,
  ) {}

  /** @throws AppError VALIDATION_FAILED for a cursor of another list */
  async page(actor: Actor, topic: Topic, request: MemberPageRequest): Promise<MemberPage> {
    const { cursor, limit, role, status, q } = request;
    const list = JSON.stringify([actor.tenant, topic, role ?? null, status ?? null, q ?? null]);
    const after = cursor === undefined ? null : this.cursors.read(list, cursor);
    // The right to read and the version of the list come from MySQL, whatever is cached.
    const { aclVersion } = await this.databases.run(actor.tenant, (db) =>
      this.groups.permit(db, actor.uid, topic, 'read'),
    );
    // What a clock or another table decides does not change with the version of the list.
    const timeless = status !== 'muted' && q === undefined;
    const snapshots = timeless ? this.pages.of(actor.tenant, topic, aclVersion, list) : null;
    const load = async (): Promise<PageSnapshot> => {
      const rows = await this.rows(actor.tenant, topic, request, after);
      if (after === null && rows.length <= limit) return { rows, total: rows.length };
      const count = (): Promise<number> => this.total(actor.tenant, topic, request);
      return { rows, total: await (snapshots ? snapshots.total(count) : count()) };
    };
    const { rows, total } = await (snapshots ? snapshots.page(JSON.stringify([after, limit]), load) : load());
    const shown = rows.slice(0, limit);
    const profiles = await this.users.publicProfiles(
      actor.tenant,
      shown.map((row) => row.uid),
    );
    const last = shown.at(-1);
    return {
      items: shown.map((row) => toItem(row, profiles.get(row.uid) ?? null)),
      nextCursor: last && rows.length > limit ? this.cursors.write(list, last) : null,
      total,
    };
  }

  /** One more than the page shows, when there are more. */
  private rows(
    tenant: TenantId,
    topic: Topic,
    request: MemberPageRequest,
    after: MemberPosition | null,
  ): Promise<SnapshotRow[]> {
    const { role, limit } = request;
    return this.databases.run(tenant, async (db) => {
      const condition = conditionOf(groupIdOf(topic), request);
      return (await selectPage(db, condition, { role, after, limit: limit + 1 })).map(toSnapshot);
    });
  }

  private total(tenant: TenantId, topic: Topic, filter: MemberFilter): Promise<number> {
    return this.databases.run(tenant, (db) => selectTotal(db, conditionOf(groupIdOf(topic), filter), filter.role));
  }
}

interface Condition {
  readonly sql: string;
  readonly values: readonly unknown[];
}

function conditionOf(groupId: string, { status, q }: MemberFilter): Condition {
  let sql = `FROM im_group_members m ${q === undefined ? '' : 'LEFT JOIN im_users u ON u.id = m.uid'}
    WHERE m.group_id = ? AND m.state = 'active'`;
  const values: unknown[] = [sqlId(groupId)];
  if (status === 'muted') sql += ' AND m.muted_until > CURRENT_TIMESTAMP(3)';
  if (q !== undefined) {
    sql += ` AND COALESCE(NULLIF(m.nickname, ''), u.nickname) COLLATE utf8mb4_general_ci LIKE ? ESCAPE '!'`;
    values.push(`${q.replace(/[!%_]/g, '!$&')}%`);
  }
  return { sql, values };
}

/**
 * Role by role, each a range of the `list_order` index, until the page is full. The position is written so that the index
 * is entered right behind it, also where thousands joined at one moment.
 */
async function selectPage(
  db: TenantDb,
  condition: Condition,
  page: { readonly role?: GroupRole; readonly after: MemberPosition | null; readonly limit: number },
): Promise<MemberRow[]> {
  const { after, limit } = page;
  const roles = page.role ? [page.role] : GROUP_ROLES.slice(after ? GROUP_ROLES.indexOf(after.role) : 0);
  const rows: MemberRow[] = [];
  for (const role of roles) {
    const behind = after?.role === role ? after : null;
    const joinedAt = behind && new Date(behind.joinedAtMs);
    const found = await db.query<MemberRow>(
      `SELECT m.uid, m.role, m.nickname, m.muted_until, m.joined_at ${condition.sql} AND m.role = ?
       ${behind ? 'AND (m.joined_at > ? OR (m.joined_at = ? AND m.uid > ?))' : ''}
       ORDER BY m.joined_at, m.uid LIMIT ?`,
      [...condition.values, role, ...(behind ? [joinedAt, joinedAt, sqlId(behind.uid)] : []), limit - rows.length],
    );
    rows.push(...found);
    if (rows.length >= limit) break;
  }
  return rows;
}

async function selectTotal(db: TenantDb, condition: Condition, role: GroupRole | undefined): Promise<number> {
  const [{ total }] = await db.query<{ total: string }>(
    `SELECT COUNT(*) AS total ${condition.sql} ${role ? 'AND m.role = ?' : ''}`,
    [...condition.values, ...(role ? [role] : [])],
  );
  return Number(total);
}

const toSnapshot = (row: MemberRow): SnapshotRow => ({
  uid: row.uid,
  role: row.role,
  nickname: row.nickname,
  mutedUntilMs: row.muted_until?.getTime() ?? null,
  joinedAtMs: row.joined_at.getTime(),
});

function toItem(row: SnapshotRow, user: UserProfile | null): MemberItem {
  const { uid, role, nickname, mutedUntilMs, joinedAtMs } = row;
  const muted = mutedUntilMs !== null && mutedUntilMs > Date.now();
  return {
    uid,
    role,
    nickname,
    mutedUntil: muted ? new Date(mutedUntilMs).toISOString() : null,
    joinedAt: new Date(joinedAtMs).toISOString(),
    user,
  };
}
