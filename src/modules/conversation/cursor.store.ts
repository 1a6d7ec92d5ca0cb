import { Injectable } from '@nestjs/common';
import type { TenantId, Topic, UserId } from '../../platform/ids/ids.js';
import { TenantDataSources } from '../../platform/mysql/tenant-data-sources.js';

export interface Cursor {
  readonly readSeq: number;
  readonly receivedSeq: number;
}

interface CursorRow {
  readonly topic: Topic;
  readonly read_seq: string;
  readonly received_seq: string;
}

/** `im_topic_cursors`, and what counts as unread. */
@Injectable()
export class CursorStore {
  constructor(private readonly tenants: TenantDataSources) {}

  /** Raises what is higher than what is stored; a cursor never goes back. What is read was received. */
  async raise(tenant: TenantId, topic: Topic, uid: UserId, to: Partial<Cursor>): Promise<Cursor> {
    const read = to.readSeq ?? 0;
    const received = Math.max(to.receivedSeq ?? 0, read);
    return this.tenants.run(tenant, async (db) => {
      await db.query(
        `INSERT INTO im_topic_cursors (uid, topic, read_seq, received_seq, updated_at) VALUES (?, ?, ?, ?, ?)
         ON DUPLICATE KEY UPDATE read_seq = GREATEST(read_seq, VALUES(read_seq)),
           received_seq = GREATEST(received_seq, VALUES(received_seq)), updated_at = VALUES(updated_at)`,
        [BigInt(uid), topic, read, received, new Date()],
      );
      const [row] = await db.query<CursorRow>(
        'SELECT topic, read_seq, received_seq FROM im_topic_cursors WHERE uid = ? AND topic = ?',
        [BigInt(uid), topic],
      );
      return { readSeq: Number(row.read_seq), receivedSeq: Number(row.received_seq) };
    });
  }

  async readSeqs(tenant: TenantId, uid: UserId, topics: readonly Topic[]): Promise<Map<Topic, number>> {
    if (topics.length === 0) return new Map();
    const rows = await this.tenants.run(tenant, (db) =>
      db.query<CursorRow>('SELECT topic, read_seq, received_seq FROM im_topic_cursors WHERE uid = ? AND topic IN (?)', [
        BigInt(uid),
        topics,
      ]),
    );
    return new Map(rows.map((row) => [row.topic, Number(row.read_seq)]));
  }

  /**
   * Messages that a user has not read, by topic; topics without any are missing. Own, recalled, removed and hidden ones and
   * void numbers do not count, nor what was sent before he joined.
   */
  async unread(tenant: TenantId, uid: UserId, topics: readonly Topic[]): Promise<Map<Topic, number>> {
    if (topics.length === 0) return new Map();
    const rows = await this.tenants.run(tenant, (db) =>
      db.query<{ topic: Topic; unread: string }>(
        `SELECT m.topic, COUNT(*) AS unread
         FROM im_group_members g
         JOIN im_group_messages m ON m.topic = CONCAT('grp_', g.group_id) AND m.seqid > g.joined_seq
         LEFT JOIN im_topic_cursors c ON c.uid = g.uid AND c.topic = m.topic
         LEFT JOIN im_message_hides h ON h.uid = g.uid AND h.topic = m.topic AND h.seqid = m.seqid
         WHERE g.uid = ? AND g.state = 'active' AND m.topic IN (?) AND m.seqid > COALESCE(c.read_seq, 0)
           AND m.from_user <> ? AND m.status = 'normal' AND h.uid IS NULL
         GROUP BY m.topic`,
        [BigInt(uid), topics, BigInt(uid)],
      ),
    );
    return new Map(rows.map((row) => [row.topic, Number(row.unread)]));
  }
}
