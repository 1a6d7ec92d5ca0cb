import { Injectable } from '@nestjs/common';
import type { TenantId, Topic, UserId } from '../../platform/ids/ids.js';
import { isDirect } from '../../platform/ids/topic.js';
import { aFewAtATime } from '../../platform/mysql/a-few-at-a-time.js';
import type { TenantDb } from '../../platform/mysql/tenant-db.js';
import { TenantDataSources } from '../../platform/mysql/tenant-data-sources.js';

/**
 * All that a count depends on, besides messages of lower numbers that are still being stored. Each of its parts only ever
 * grows, so a count of a range without missing numbers that was made after a state was read, and is found under the very
 * same state again, is still the count.
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

/** Messages of one conversation: above `from`, up to and with `to`. */
export interface SeqRange {
  readonly topic: Topic;
  readonly from: number;
  readonly to: number;
}

export interface RangeCount {
  readonly unread: number;
  /** Those of them that mention the user. */
  readonly mentions: number;
  /** Is every number of the range stored? Where one is missing a message may still be on its way. */
  readonly whole: boolean;
}

interface CountRow {
  readonly place: string | number;
  readonly total: string;
  readonly unread: string | null;
  readonly mentions: string | null;
}

/** Ranges that one statement counts. */
const RANGES_AT_ONCE = 50;
const COUNTS = `m.from_user <> ? AND m.status = 'normal' AND h.uid IS NULL`;

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

  /**
   * Counts ranges, each entered by the primary key.
   * @returns in the order of `ranges`, as they are now
   */
  async count(tenant: TenantId, uid: UserId, ranges: readonly SeqRange[]): Promise<RangeCount[]> {
    const chunks: (readonly SeqRange[])[] = [];
    for (let first = 0; first < ranges.length; first += RANGES_AT_ONCE) {
      chunks.push(ranges.slice(first, first + RANGES_AT_ONCE));
    }
    const counted = await this.tenants.run(tenant, (db) => aFewAtATime(chunks, (chunk) => countRanges(db, uid, chunk)));
    return counted.flat();
  }
}

async function countRanges(db: TenantDb, uid: UserId, ranges: readonly SeqRange[]): Promise<RangeCount[]> {
  const [me, mention] = [BigInt(uid), `%"${uid}"%`];
  const parts = ranges.map(
    ({ topic }, place) => `
      SELECT ${place} AS place, COUNT(*) AS total, SUM(${COUNTS}) AS unread,
             SUM(${COUNTS} AND (m.mention_all = 1 OR COALESCE(m.mentioned_user_ids LIKE ?, 0))) AS mentions
      FROM ${isDirect(topic) ? 'im_messages' : 'im_group_messages'} m
      LEFT JOIN im_message_hides h ON h.uid = ? AND h.topic = m.topic AND h.seqid = m.seqid
      WHERE m.topic = ? AND m.seqid > ? AND m.seqid <= ?`,
  );
  const values = ranges.flatMap(({ topic, from, to }) => [me, me, mention, me, topic, from, to]);
  const rows = await db.query<CountRow>(parts.join(' UNION ALL '), values);
  const byPlace = new Map(rows.map((row) => [Number(row.place), row]));
  return ranges.map(({ from, to }, place) => {
    const row = byPlace.get(place);
    const [stored, unread, mentions] = [row?.total, row?.unread, row?.mentions].map((n) => Number(n ?? 0));
    return { unread, mentions, whole: stored === to - from };
  });
}
