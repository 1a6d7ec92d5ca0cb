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

/**
 * All that a count depends on. Each of its parts only ever grows, so a count that was made after a state was read, and is
 * found under the very same state again, is still the count.
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

interface Numbered {
  readonly topic: Topic;
  readonly n: string | null;
}

interface CountRow {
  readonly topic: Topic;
  readonly unread: string;
  readonly mentioned: string | null;
}

const COUNTED = `m.from_user <> ? AND m.status = 'normal' AND h.uid IS NULL`;
const COLUMNS = `m.topic, COUNT(*) AS unread, SUM(m.mention_all = 1 OR m.mentioned_user_ids LIKE ?) AS mentioned`;
const OWN = `
  LEFT JOIN im_topic_cursors c ON c.uid = ? AND c.topic = m.topic
  LEFT JOIN im_message_hides h ON h.uid = ? AND h.topic = m.topic AND h.seqid = m.seqid`;

/** What a user has not read, from MySQL. Own, recalled, removed, blocked and hidden messages and void numbers do not count. */
@Injectable()
export class UnreadStore {
  constructor(private readonly tenants: TenantDataSources) {}

  /** States of conversations, read before anything is counted. */
  async states(tenant: TenantId, uid: UserId, topics: readonly Topic[]): Promise<Map<Topic, UnreadState>> {
    if (topics.length === 0) return new Map();
    const me = BigInt(uid);
    const read = (sql: string, values: unknown[]): Promise<Map<Topic, number>> => this.numbers(tenant, sql, values);
    const direct = topics.filter(isDirect);
    const groups = topics.filter((topic) => !isDirect(topic));
    const [heads, chats, reads, changes, hides, floors] = await Promise.all([
      some(groups, () =>
        read('SELECT topic, MAX(seqid) AS n FROM im_group_messages WHERE topic IN (?) GROUP BY topic', [groups]),
      ),
      some(direct, () => read('SELECT topic, seq AS n FROM im_topic_seq WHERE topic IN (?)', [direct])),
      read('SELECT topic, read_seq AS n FROM im_topic_cursors WHERE uid = ? AND topic IN (?)', [me, topics]),
      read('SELECT topic, change_no AS n FROM im_message_change_heads WHERE topic IN (?)', [topics]),
      read('SELECT topic, COUNT(*) AS n FROM im_message_hides WHERE uid = ? AND topic IN (?) GROUP BY topic', [
        ...[me, topics],
      ]),
      some(groups, () =>
        read(`SELECT CONCAT('grp_', group_id) AS topic, joined_seq AS n FROM im_group_members WHERE uid = ?`, [me]),
      ),
    ]);
    return new Map(
      topics.map((topic) => {
        const of = (numbers: Map<Topic, number>): number => numbers.get(topic) ?? 0;
        const head = Math.max(of(heads), of(chats));
        return [topic, { head, read: of(reads), changes: of(changes), hides: of(hides), floor: of(floors) }];
      }),
    );
  }

  /** Counts now; conversations without unread messages are missing. */
  async count(tenant: TenantId, uid: UserId, topics: readonly Topic[]): Promise<Map<Topic, Unread>> {
    const direct = topics.filter(isDirect);
    const groups = topics.filter((topic) => !isDirect(topic));
    const [me, mention] = [BigInt(uid), `%"${uid}"%`];
    const rows = await this.tenants.run(tenant, (db) =>
      Promise.all([
        counted(db, groups, [
          `SELECT ${COLUMNS} FROM im_group_members g
           JOIN im_group_messages m ON m.topic = CONCAT('grp_', g.group_id) AND m.seqid > g.joined_seq ${OWN}
           WHERE g.uid = ? AND g.state = 'active' AND m.topic IN (?) AND m.seqid > COALESCE(c.read_seq, 0) AND ${COUNTED}
           GROUP BY m.topic`,
          [mention, me, me, me, groups, me],
        ]),
        counted(db, direct, [
          `SELECT ${COLUMNS} FROM im_messages m ${OWN}
           WHERE m.topic IN (?) AND m.seqid > COALESCE(c.read_seq, 0) AND ${COUNTED} GROUP BY m.topic`,
          [mention, me, me, direct, me],
        ]),
      ]),
    );
    return new Map(
      rows.flat().map(({ topic, unread, mentioned }) => {
        return [topic, { unread: Number(unread), mentioned: Number(mentioned ?? 0) > 0 }];
      }),
    );
  }

  private async numbers(tenant: TenantId, sql: string, values: unknown[]): Promise<Map<Topic, number>> {
    const rows = await this.tenants.run(tenant, (db) => db.query<Numbered>(sql, values));
    return new Map(rows.map(({ topic, n }) => [topic, Number(n ?? 0)]));
  }
}

const some = <T>(topics: readonly Topic[], read: () => Promise<Map<Topic, T>>): Promise<Map<Topic, T>> =>
  topics.length === 0 ? Promise.resolve(new Map()) : read();

const counted = (db: TenantDb, topics: readonly Topic[], [sql, values]: [string, unknown[]]): Promise<CountRow[]> =>
  topics.length === 0 ? Promise.resolve([]) : db.query<CountRow>(sql, values);
