import { Injectable } from '@nestjs/common';
import type { TenantId, Topic, UserId } from '../../platform/ids/ids.js';
import { isDirect } from '../../platform/ids/topic.js';
import type { TenantDb } from '../../platform/mysql/tenant-db.js';
import { TenantDataSources } from '../../platform/mysql/tenant-data-sources.js';

export interface Unread {
  readonly unread: number;
  /** Is the user mentioned in one of them? */
  readonly mentioned: boolean;
}

/** A count as it was made. */
export interface Counted extends Unread {
  /**
   * Is every number up to the newest one stored? Messages commit in any order: one that is still on its way below the head
   * changes the count and no part of the state.
   */
  readonly isWhole: boolean;
}

/**
 * All that a count depends on, once no number below the head is on its way. Each of its parts only ever grows, so a whole
 * count that was made after a state was read, and is found under the very same state again, is still the count.
 */
export interface UnreadState {
  readonly head: number;
  readonly read: number;
  readonly changes: number;
  /** How many messages he deleted for himself. */
  readonly hides: number;
  /** Highest seq that was there when he joined; those before do not count. */
  readonly floor: number;
}

interface PartRow {
  readonly part: string;
  readonly topic: Topic;
  readonly n: string | null;
}

interface CountRow {
  readonly topic: Topic;
  readonly unread: string;
  readonly mentioned: string | null;
  /** Rows above where counting began, and how many there are when none is missing. */
  readonly found: string;
  readonly span: string;
}

const COUNTED = `(m.from_user <> ? AND m.status = 'normal' AND h.uid IS NULL)`;
const MENTIONS = `(m.mention_all = 1 OR m.mentioned_user_ids LIKE ?)`;
const COLUMNS = `m.topic, SUM(${COUNTED}) AS unread, SUM(${COUNTED} AND ${MENTIONS}) AS mentioned, COUNT(*) AS found`;
const READ = 'COALESCE(c.read_seq, 0)';
const OWN = `
  LEFT JOIN im_topic_cursors c ON c.uid = ? AND c.topic = m.topic
  LEFT JOIN im_message_hides h ON h.uid = ? AND h.topic = m.topic AND h.seqid = m.seqid`;

/** What a user has not read, from MySQL. Own, recalled, removed, blocked and hidden messages and void numbers do not count. */
@Injectable()
export class UnreadStore {
  constructor(private readonly tenants: TenantDataSources) {}

  /** States of conversations, read before anything is counted; in one query, so that many askers take one connection each. */
  async states(tenant: TenantId, uid: UserId, topics: readonly Topic[]): Promise<Map<Topic, UnreadState>> {
    if (topics.length === 0) return new Map();
    const me = BigInt(uid);
    const direct = topics.filter(isDirect);
    const groups = topics.filter((topic) => !isDirect(topic));
    const parts: [sql: string, values: unknown[]][] = [
      [
        `SELECT 'read' AS part, topic, read_seq AS n FROM im_topic_cursors WHERE uid = ? AND topic IN (?)`,
        [me, topics],
      ],
      [`SELECT 'changes', topic, change_no FROM im_message_change_heads WHERE topic IN (?)`, [topics]],
      [
        `SELECT 'hides', topic, COUNT(*) FROM im_message_hides WHERE uid = ? AND topic IN (?) GROUP BY topic`,
        [me, topics],
      ],
    ];
    if (groups.length > 0) {
      parts.push(
        [`SELECT 'head', topic, MAX(seqid) FROM im_group_messages WHERE topic IN (?) GROUP BY topic`, [groups]],
        [`SELECT 'floor', CONCAT('grp_', group_id), joined_seq FROM im_group_members WHERE uid = ?`, [me]],
      );
    }
    if (direct.length > 0) parts.push([`SELECT 'head', topic, seq FROM im_topic_seq WHERE topic IN (?)`, [direct]]);
    const sql = parts.map(([text]) => text).join(' UNION ALL ');
    const values = parts.flatMap(([, some]) => some);
    const rows = await this.tenants.run(tenant, (db) => db.query<PartRow>(sql, values));
    const found = new Map(rows.map(({ part, topic, n }) => [`${part} ${topic}`, Number(n ?? 0)]));
    return new Map(
      topics.map((topic) => {
        const of = (part: string): number => found.get(`${part} ${topic}`) ?? 0;
        return [
          topic,
          { head: of('head'), read: of('read'), changes: of('changes'), hides: of('hides'), floor: of('floor') },
        ];
      }),
    );
  }

  /** Counts now; conversations without a message above what was read are missing. */
  async count(tenant: TenantId, uid: UserId, topics: readonly Topic[]): Promise<Map<Topic, Counted>> {
    const direct = topics.filter(isDirect);
    const groups = topics.filter((topic) => !isDirect(topic));
    const me = BigInt(uid);
    const columns = [me, me, `%"${uid}"%`];
    const rows = await this.tenants.run(tenant, (db) =>
      Promise.all([
        counted(db, groups, [
          `SELECT ${COLUMNS}, MAX(m.seqid) - MAX(GREATEST(g.joined_seq, ${READ})) AS span FROM im_group_members g
           JOIN im_group_messages m ON m.topic = CONCAT('grp_', g.group_id) AND m.seqid > g.joined_seq ${OWN}
           WHERE g.uid = ? AND g.state = 'active' AND m.topic IN (?) AND m.seqid > ${READ} GROUP BY m.topic`,
          [...columns, me, me, me, groups],
        ]),
        counted(db, direct, [
          `SELECT ${COLUMNS}, MAX(m.seqid) - MAX(${READ}) AS span FROM im_messages m ${OWN}
           WHERE m.topic IN (?) AND m.seqid > ${READ} GROUP BY m.topic`,
          [...columns, me, me, direct],
        ]),
      ]),
    );
    return new Map(
      rows.flat().map(({ topic, unread, mentioned, found, span }) => {
        const isWhole = Number(found) === Number(span);
        return [topic, { unread: Number(unread), mentioned: Number(mentioned ?? 0) > 0, isWhole }];
      }),
    );
  }
}

const counted = (db: TenantDb, topics: readonly Topic[], [sql, values]: [string, unknown[]]): Promise<CountRow[]> =>
  topics.length === 0 ? Promise.resolve([]) : db.query<CountRow>(sql, values);
