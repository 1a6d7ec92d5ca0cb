import type { Topic, UserId } from '../../platform/ids/ids.js';
import { groupIdOf, groupTopic } from '../../platform/ids/topic.js';
import type { GroupAccess, GroupRole } from './group.types.js';
import { sqlId, sqlIds } from './sql-id.js';

/** Runs one SELECT, on whatever connection or transaction the caller reads in. */
export type Select = <T>(sql: string, values: readonly unknown[]) => Promise<T[]>;

interface AccessRow {
  readonly state: 'active' | 'dismissed';
  readonly mute_all: number | null;
  readonly history: number | null;
  readonly invite: string | null;
  readonly announce: string | null;
  readonly acl_version: string | null;
  readonly uid: string | null;
  readonly role: GroupRole;
  readonly member_state: string;
  readonly muted_until: Date | null;
  readonly joined_seq: string;
}

const ACCESS = `
  SELECT g.state, s.mute_all, s.history_for_new_members AS history, t.acl_version,
         s.who_may_invite AS invite, s.who_may_announce AS announce,
         m.uid, m.role, m.state AS member_state, m.muted_until, m.joined_seq
  FROM im_groups g
  LEFT JOIN im_group_settings s ON s.group_id = g.id
  LEFT JOIN im_topic_seq t ON t.topic = ?
  LEFT JOIN im_group_members m ON m.group_id = g.id AND m.uid IN (?)
  WHERE g.id = ?`;

/** What each of `uids` may do in the group, from one SELECT and so from one moment. Every uid asked for is in the answer. */
export async function selectAccess(
  select: Select,
  topic: Topic,
  uids: readonly UserId[],
): Promise<Map<UserId, GroupAccess>> {
  if (uids.length === 0) return new Map();
  const rows = await select<AccessRow>(ACCESS, [topic, sqlIds(uids), sqlId(groupIdOf(topic))]);
  const byUid = new Map(rows.map((row) => [row.uid, row]));
  return new Map(uids.map((uid) => [uid, toAccess(rows[0], byUid.get(uid))]));
}

function toAccess(group: AccessRow | undefined, row: AccessRow | undefined): GroupAccess {
  const member = row?.member_state === 'active' ? row : undefined;
  return {
    role: member?.role ?? null,
    mutedUntilMs: member?.muted_until?.getTime() ?? 0,
    groupState: group?.state ?? 'missing',
    muteAll: group?.mute_all === 1,
    aclVersion: Number(group?.acl_version ?? 0),
    joinedSeq: Number(member?.joined_seq ?? 0),
    historyForNewMembers: group?.history !== 0,
    membersMay: (['invite', 'announce'] as const).filter((action) => group?.[action] === 'members'),
  };
}

/** Topics of the active groups that the user is an active member of. */
export async function selectTopicsOf(select: Select, uid: UserId): Promise<Topic[]> {
  const rows = await select<{ id: string }>(
    `SELECT g.id FROM im_group_members m JOIN im_groups g ON g.id = m.group_id
     WHERE m.uid = ? AND m.state = 'active' AND g.state = 'active' ORDER BY g.id`,
    [sqlId(uid)],
  );
  return rows.map((row) => groupTopic(row.id));
}

/** Those of `uids` that are active members of an active group at this moment. */
export async function selectActive(select: Select, topic: Topic, uids: readonly UserId[]): Promise<UserId[]> {
  if (uids.length === 0) return [];
  const rows = await select<{ uid: UserId }>(
    `SELECT m.uid FROM im_group_members m JOIN im_groups g ON g.id = m.group_id
     WHERE m.group_id = ? AND m.uid IN (?) AND m.state = 'active' AND g.state = 'active'`,
    [sqlId(groupIdOf(topic)), sqlIds(uids)],
  );
  return rows.map((row) => row.uid);
}

/** All members, also of a group that was dismissed. */
export async function selectMemberUids(select: Select, topic: Topic): Promise<UserId[]> {
  const rows = await select<{ uid: UserId }>(
    "SELECT uid FROM im_group_members WHERE group_id = ? AND state = 'active'",
    [sqlId(groupIdOf(topic))],
  );
  return rows.map((row) => row.uid);
}

export async function selectMemberCount(select: Select, topic: Topic): Promise<number> {
  const [row] = await select<{ member_count: string | number }>('SELECT member_count FROM im_groups WHERE id = ?', [
    sqlId(groupIdOf(topic)),
  ]);
  return Number(row?.member_count ?? 0);
}

export async function selectNames(select: Select, topics: readonly Topic[]): Promise<Map<Topic, string>> {
  if (topics.length === 0) return new Map();
  const ids = topics.map((topic) => sqlId(groupIdOf(topic)));
  const rows = await select<{ id: string; name: string }>('SELECT id, name FROM im_groups WHERE id IN (?)', [ids]);
  return new Map(rows.map((row) => [groupTopic(row.id), row.name]));
}
