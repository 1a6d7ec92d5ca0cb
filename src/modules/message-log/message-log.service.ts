import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { Seq, TenantId, Topic, UserId } from '../../platform/ids/ids.js';
import { Coalesced } from '../../platform/mysql/coalesced.js';
import { TenantDataSources } from '../../platform/mysql/tenant-data-sources.js';

/** What happens to messages of every kind of topic: the numbered log of changes, and what readers delete for themselves. */
@Injectable()
export class MessageLogService {
  private readonly hides = new Coalesced<number[]>();

  constructor(private readonly tenants: TenantDataSources) {}

  /**
   * Gives a change its number and logs it, in the transaction that makes it. The number's row is held until the commit:
   * numbers appear in order and without holes.
   */
  async recordChange(tx: EntityManager, topic: Topic, seq: number, version: number, at: Date): Promise<number> {
    await tx.query(
      'INSERT INTO im_message_change_heads (topic, change_no) VALUES (?, 1) ON DUPLICATE KEY UPDATE change_no = change_no + 1',
      [topic],
    );
    const [row] = (await tx.query('SELECT change_no FROM im_message_change_heads WHERE topic = ?', [topic])) as {
      change_no: string;
    }[];
    const changeNo = Number(row.change_no);
    await tx.query(
      'INSERT INTO im_message_changes (topic, change_no, seqid, version, created_at) VALUES (?, ?, ?, ?, ?)',
      [topic, changeNo, seq, version, at],
    );
    return changeNo;
  }

  async lastChange(tenant: TenantId, topic: Topic): Promise<number> {
    const [row] = await this.tenants.run(tenant, (db) =>
      db.query<{ change_no: string }>('SELECT change_no FROM im_message_change_heads WHERE topic = ?', [topic]),
    );
    return Number(row?.change_no ?? 0);
  }

  /** Numbers of the newest changes; topics without any are missing. */
  async lastChanges(tenant: TenantId, topics: readonly Topic[]): Promise<Map<Topic, number>> {
    if (topics.length === 0) return new Map();
    const rows = await this.tenants.run(tenant, (db) =>
      db.query<{ topic: Topic; change_no: string }>(
        'SELECT topic, change_no FROM im_message_change_heads WHERE topic IN (?)',
        [topics],
      ),
    );
    return new Map(rows.map((row) => [row.topic, Number(row.change_no)]));
  }

  /** Stores which messages a reader deleted for himself; the caller knows that they are there. */
  async hide(tenant: TenantId, topic: Topic, uid: UserId, seqs: readonly Seq[]): Promise<void> {
    const now = new Date();
    await this.tenants.run(tenant, (db) =>
      db.query(
        'INSERT INTO im_message_hides (uid, topic, seqid, created_at) VALUES ? ON DUPLICATE KEY UPDATE seqid = VALUES(seqid)',
        [seqs.map((seq) => [BigInt(uid), topic, seq, now])],
      ),
    );
  }

  /** What a member deleted for himself in a range, both ends included. Equal reads share one query. */
  hidden(tenant: TenantId, topic: Topic, uid: UserId, from: number, to: number, limit: number): Promise<number[]> {
    return this.hides.run(`${tenant} ${topic} ${uid} ${from} ${to} ${limit}`, async () => {
      const rows = await this.tenants.run(tenant, (db) =>
        db.query<{ seqid: string }>(
          'SELECT seqid FROM im_message_hides WHERE uid = ? AND topic = ? AND seqid BETWEEN ? AND ? LIMIT ?',
          [BigInt(uid), topic, from, to, limit],
        ),
      );
      return rows.map((row) => Number(row.seqid));
    });
  }

  /** Which of these a member deleted for himself. */
  async hiddenOf(tenant: TenantId, topic: Topic, uid: UserId, seqs: readonly Seq[]): Promise<Set<number>> {
    const rows = await this.tenants.run(tenant, (db) =>
      db.query<{ seqid: string }>('SELECT seqid FROM im_message_hides WHERE uid = ? AND topic = ? AND seqid IN (?)', [
        BigInt(uid),
        topic,
        seqs,
      ]),
    );
    return new Set(rows.map((row) => Number(row.seqid)));
  }

  /** Which of these anybody deleted for himself. */
  async hiddenByAnybody(tenant: TenantId, topic: Topic, seqs: readonly Seq[]): Promise<Set<number>> {
    const rows = await this.tenants.run(tenant, (db) =>
      db.query<{ seqid: string }>('SELECT DISTINCT seqid FROM im_message_hides WHERE topic = ? AND seqid IN (?)', [
        topic,
        seqs,
      ]),
    );
    return new Set(rows.map((row) => Number(row.seqid)));
  }
}
