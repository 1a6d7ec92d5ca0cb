import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { Seq, TenantId, Topic, UserId } from '../../platform/ids/ids.js';
import { TenantDataSources } from '../../platform/mysql/tenant-data-sources.js';
import { MessageLogService } from '../message-log/message-log.service.js';
import { MESSAGE_COLUMNS, type MessageRow } from './message-row.js';

/** One entry of a topic's change log, with the message as it is now. */
export interface ChangeRow extends MessageRow {
  readonly change_no: string;
}

/** New values of a message row; what is absent stays. */
export interface RowChange {
  readonly status?: 'recalled' | 'deleted' | 'blocked';
  readonly contentText?: string;
  readonly by: UserId;
}

/** Edits, recalls, removals and own deletions in MySQL. */
@Injectable()
export class ChangeStore {
  constructor(
    private readonly tenants: TenantDataSources,
    private readonly log: MessageLogService,
  ) {}

  transaction<T>(tenant: TenantId, work: (tx: EntityManager) => Promise<T>): Promise<T> {
    return this.tenants.run(tenant, (db) => db.transaction(work));
  }

  /** The row, held until the transaction ends; null when there is no message at that number. */
  async lock(tx: EntityManager, topic: Topic, seq: Seq): Promise<MessageRow | null> {
    const [row] = (await tx.query(
      `SELECT ${MESSAGE_COLUMNS} FROM im_group_messages WHERE topic = ? AND seqid = ? AND status <> 'void' FOR UPDATE`,
      [topic, seq],
    )) as MessageRow[];
    return row ?? null;
  }

  /** Writes a change and its number. The number's row is held until commit: numbers appear in order and without holes. */
  async change(tx: EntityManager, topic: Topic, row: MessageRow, change: RowChange): Promise<[MessageRow, number]> {
    const now = new Date();
    const version = row.version + 1;
    const status = change.status ?? row.status;
    const content = change.contentText ?? row.content;
    await tx.query(
      `UPDATE im_group_messages SET version = ?, status = ?, content = ?, content_size = ?, updated_at = ?,
         recalled_at = IF(? = 'recalled', ?, recalled_at), recalled_by = IF(? = 'recalled', ?, recalled_by),
         deleted_at = IF(? = 'deleted', ?, deleted_at)
       WHERE topic = ? AND seqid = ?`,
      [
        version,
        status,
        content,
        Buffer.byteLength(content ?? ''),
        now,
        ...[change.status ?? '', now, change.status ?? '', BigInt(change.by), change.status ?? '', now],
        topic,
        Number(row.seqid),
      ],
    );
    const changeNo = await this.log.recordChange(tx, topic, Number(row.seqid), version, now);
    return [{ ...row, version, status, content, updated_at: now }, changeNo];
  }

  /** Changes above `afterChange`, ascending, each with its message's present state. */
  changesAfter(
    tenant: TenantId,
    topic: Topic,
    afterChange: number,
    floor: number,
    limit: number,
  ): Promise<ChangeRow[]> {
    const columns = MESSAGE_COLUMNS.split(', ').map((column) => `m.${column}`);
    return this.tenants.run(tenant, (db) =>
      db.query<ChangeRow>(
        `SELECT c.change_no, ${columns.join(', ')} FROM im_message_changes c
         JOIN im_group_messages m ON m.topic = c.topic AND m.seqid = c.seqid
         WHERE c.topic = ? AND c.change_no > ? AND c.seqid > ? ORDER BY c.change_no LIMIT ?`,
        [topic, afterChange, floor, limit],
      ),
    );
  }

  lastChange(tenant: TenantId, topic: Topic): Promise<number> {
    return this.log.lastChange(tenant, topic);
  }

  /** Stores which messages a member deleted for himself; numbers that hold none are left out. @returns those stored */
  async hide(tenant: TenantId, topic: Topic, uid: UserId, seqs: readonly Seq[]): Promise<Seq[]> {
    return this.tenants.run(tenant, async (db) => {
      const rows = await db.query<{ seqid: string }>(
        "SELECT seqid FROM im_group_messages WHERE topic = ? AND seqid IN (?) AND status <> 'void' ORDER BY seqid",
        [topic, seqs],
      );
      const found = rows.map((row) => Number(row.seqid) as Seq);
      if (found.length === 0) return found;
      await this.log.hide(tenant, topic, uid, found);
      return found;
    });
  }

  /** What a member deleted for himself in a range, both ends included. Equal reads share one query. */
  hidden(tenant: TenantId, topic: Topic, uid: UserId, from: number, to: number, limit: number): Promise<number[]> {
    return this.log.hidden(tenant, topic, uid, from, to, limit);
  }

  /** Which of these a member deleted for himself. */
  hiddenOf(tenant: TenantId, topic: Topic, uid: UserId, seqs: readonly Seq[]): Promise<Set<number>> {
    return this.log.hiddenOf(tenant, topic, uid, seqs);
  }

  /** Which of these anybody deleted for himself. */
  hiddenByAnybody(tenant: TenantId, topic: Topic, seqs: readonly Seq[]): Promise<Set<number>> {
    return this.log.hiddenByAnybody(tenant, topic, seqs);
  }
}
