import { Injectable } from '@nestjs/common';
import type { TenantId, Topic, UserId } from '../../platform/ids/ids.js';
import { TenantDataSources } from '../../platform/mysql/tenant-data-sources.js';

export interface Cursor {
  readonly readSeq: number;
  readonly receivedSeq: number;
}

export const NO_CURSOR: Cursor = { readSeq: 0, receivedSeq: 0 };

interface CursorRow {
  readonly topic: Topic;
  readonly read_seq: string;
  readonly received_seq: string;
}

/** `im_topic_cursors`. */
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
      return cursorOf(row);
    });
  }

  /** Topics that he never read are missing. */
  async cursors(tenant: TenantId, uid: UserId, topics: readonly Topic[]): Promise<Map<Topic, Cursor>> {
    if (topics.length === 0) return new Map();
    const rows = await this.tenants.run(tenant, (db) =>
      db.query<CursorRow>('SELECT topic, read_seq, received_seq FROM im_topic_cursors WHERE uid = ? AND topic IN (?)', [
        BigInt(uid),
        topics,
      ]),
    );
    return new Map(rows.map((row) => [row.topic, cursorOf(row)]));
  }
}

const cursorOf = (row: CursorRow): Cursor => ({
  readSeq: Number(row.read_seq),
  receivedSeq: Number(row.received_seq),
});
