import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { asTopic, type Seq, type TenantId, type Topic, type UserId } from '../../platform/ids/ids.js';
import { TenantDataSources } from '../../platform/mysql/tenant-data-sources.js';
import type { Querying } from '../../platform/mysql/writer-pool.js';
import {
  MESSAGE_COLUMNS,
  PageRow,
  type MessageBody,
  type MessageRow,
  type PageValues,
} from '../group-message/group-message.service.js';
import { RelationService } from '../relation/relation.service.js';
import { TopicService } from '../topic/topic.service.js';
import { sidesOf } from './direct-access.js';

/** A message on its way into a private chat. */
export interface DirectSend {
  readonly from: UserId;
  readonly body: MessageBody;
  /** Version of the permissions that it was allowed under. */
  readonly aclVersion: number;
}

/** A stored message as far as a retry needs it. */
export interface StoredDirect {
  readonly seq: number;
  readonly id: string;
  readonly createdAt: Date;
  readonly digest: Buffer;
}

export type DirectOutcome =
  | { readonly kind: 'stored'; readonly stored: StoredDirect }
  /** The client id has a row already; whether of the same message the digest tells. */
  | { readonly kind: 'known'; readonly stored: StoredDirect }
  /** The permissions have changed since it was allowed. */
  | { readonly kind: 'stale' };

interface KeyRow {
  readonly id: string;
  readonly seqid: string;
  readonly from_user: string;
  readonly client_msg_id: string;
  readonly digest: Buffer;
  readonly created_at: Date;
}

const KEY_COLUMNS = 'id, seqid, from_user, client_msg_id, digest, created_at';

/** New values of a message row; what is absent stays. */
export interface DirectChange {
  readonly status?: 'recalled' | 'blocked';
  readonly contentText?: string;
  readonly by: UserId;
}

/** The only place that knows the table of private messages, and which chats there are. */
@Injectable()
export class DirectMessageStore {
  constructor(
    private readonly tenants: TenantDataSources,
    private readonly topics: TopicService,
    private readonly relations: RelationService,
  ) {}

  /**
   * Numbers and stores messages of one chat in one transaction, in this order; it is repeated after a deadlock. While it
   * holds the chat's row nobody else numbers, so that the order of the numbers is the order of the commits: whoever reads
   * a number finds every message up to it.
   * @returns one outcome each. @throws CommitUnknown; any other error means that nothing was stored
   */
  append(tenant: TenantId, topic: Topic, sends: readonly DirectSend[]): Promise<DirectOutcome[]> {
    return this.tenants.run(tenant, async (db) => {
      const idStep = await db.autoIncrementStep();
      return db.lockingTransaction((tx) => this.appendIn(tx, topic, sends, idStep));
    });
  }

  /** Finds a message by its client id, after every transaction that may still be storing it has ended. */
  async findSettled(tenant: TenantId, topic: Topic, from: UserId, clientMsgId: string): Promise<PageRow | null> {
    await this.tenants.run(tenant, (db) => db.lockingTransaction((tx) => this.topics.lockDirect(tx, topic)));
    const stored = await this.findByClientId(tenant, topic, from, clientMsgId);
    return stored && (await this.rowsAfter(tenant, topic, stored.seq - 1, 1))[0];
  }

  async findByClientId(tenant: TenantId, topic: Topic, from: UserId, id: string): Promise<StoredDirect | null> {
    const [row] = await this.tenants.run(tenant, (db) =>
      db.query<KeyRow>(
        `SELECT ${KEY_COLUMNS} FROM im_messages WHERE topic = ? AND from_user = ? AND client_msg_id = ?`,
        [topic, BigInt(from), id],
      ),
    );
    return row ? storedOf(row) : null;
  }

  rowsAfter(tenant: TenantId, topic: Topic, afterSeq: number, limit: number): Promise<PageRow[]> {
    return this.page(tenant, topic, [
      `SELECT ${MESSAGE_COLUMNS} FROM im_messages WHERE topic = ? AND seqid > ? ORDER BY seqid LIMIT ?`,
      [topic, afterSeq, limit],
    ]);
  }

  rowsBefore(
    tenant: TenantId,
    topic: Topic,
    beforeSeq: number | null,
    floorSeq: number,
    limit: number,
  ): Promise<PageRow[]> {
    return this.page(tenant, topic, [
      `SELECT ${MESSAGE_COLUMNS} FROM im_messages WHERE topic = ? AND seqid < ? AND seqid > ? ORDER BY seqid DESC LIMIT ?`,
      [topic, beforeSeq ?? Number.MAX_SAFE_INTEGER, floorSeq, limit],
    ]);
  }

  /** Those of the numbers that hold a message, ascending. */
  async existing(tenant: TenantId, topic: Topic, seqs: readonly Seq[]): Promise<Seq[]> {
    const rows = await this.tenants.run(tenant, (db) =>
      db.query<{ seqid: string }>('SELECT seqid FROM im_messages WHERE topic = ? AND seqid IN (?) ORDER BY seqid', [
        topic,
        seqs,
      ]),
    );
    return rows.map((row) => Number(row.seqid) as Seq);
  }

  /** The messages at these numbers, ascending. */
  rowsOf(tenant: TenantId, topic: Topic, seqs: readonly Seq[]): Promise<MessageRow[]> {
    return this.tenants.run(tenant, (db) =>
      db.query<MessageRow>(
        `SELECT ${MESSAGE_COLUMNS} FROM im_messages WHERE topic = ? AND seqid IN (?) ORDER BY seqid`,
        [topic, seqs],
      ),
    );
  }

  async topicsOf(tenant: TenantId, uid: UserId): Promise<Topic[]> {
    const rows = await this.tenants.run(tenant, (db) =>
      db.query<{ topic: string }>('SELECT topic FROM im_direct_chats WHERE uid = ?', [BigInt(uid)]),
    );
    return rows.map((row) => asTopic(row.topic));
  }

  transaction<T>(tenant: TenantId, work: (tx: EntityManager) => Promise<T>): Promise<T> {
    return this.tenants.run(tenant, (db) => db.transaction(work));
  }

  /** The row, held until the transaction ends; null when there is no message at that number. */
  async lock(tx: EntityManager, topic: Topic, seq: Seq): Promise<MessageRow | null> {
    const [row] = (await tx.query(
      `SELECT ${MESSAGE_COLUMNS} FROM im_messages WHERE topic = ? AND seqid = ? FOR UPDATE`,
      [topic, seq],
    )) as MessageRow[];
    return row ?? null;
  }

  /** Writes a change of the held row. @returns the row as it is now */
  async change(tx: EntityManager, topic: Topic, row: MessageRow, change: DirectChange, at: Date): Promise<MessageRow> {
    const version = row.version + 1;
    const status = change.status ?? row.status;
    const content = change.contentText ?? row.content;
    const recalled = change.status === 'recalled';
    await tx.query(
      `UPDATE im_messages SET version = ?, status = ?, content = ?, content_size = ?, updated_at = ?,
         recalled_at = IF(?, ?, recalled_at), recalled_by = IF(?, ?, recalled_by)
       WHERE topic = ? AND seqid = ?`,
      [
        ...[version, status, content, Buffer.byteLength(content ?? ''), at],
        ...[recalled, at, recalled, BigInt(change.by)],
        ...[topic, Number(row.seqid)],
      ],
    );
    return { ...row, version, status, content, updated_at: at };
  }

  /** Changes above `afterChange`, ascending, each with its message's present state. */
  changesAfter(
    tenant: TenantId,
    topic: Topic,
    afterChange: number,
    limit: number,
  ): Promise<(MessageRow & { readonly change_no: string })[]> {
    const columns = MESSAGE_COLUMNS.split(', ').map((column) => `m.${column}`);
    return this.tenants.run(tenant, (db) =>
      db.query(
        `SELECT c.change_no, ${columns.join(', ')} FROM im_message_changes c
         JOIN im_messages m ON m.topic = c.topic AND m.seqid = c.seqid
         WHERE c.topic = ? AND c.change_no > ? ORDER BY c.change_no LIMIT ?`,
        [topic, afterChange, limit],
      ),
    );
  }

  private async page(tenant: TenantId, topic: Topic, [sql, values]: [string, unknown[]]): Promise<PageRow[]> {
    const rows = await this.tenants.run(tenant, (db) => db.rows<PageValues>(sql, values));
    return rows.map((row) => new PageRow(topic, row));
  }

  private async appendIn(
    tx: Querying,
    topic: Topic,
    sends: readonly DirectSend[],
    idStep: bigint,
  ): Promise<DirectOutcome[]> {
    const { seq: last, aclVersion } = await this.topics.lockDirect(tx, topic);
    const known = await this.known(tx, topic, sends);
    const blocked = await this.blocked(tx, topic);
    const fresh: DirectSend[] = [];
    for (const send of sends) {
      if (known.has(keyOf(send)) || send.aclVersion !== aclVersion || blocked) continue;
      // The same id twice at once: the second is a retry of the first.
      if (!fresh.some((other) => keyOf(other) === keyOf(send))) fresh.push(send);
    }
    const stored = await this.insert(tx, topic, last, fresh, idStep);
    return sends.map((send) => {
      const earlier = known.get(keyOf(send));
      if (earlier) return { kind: 'known', stored: earlier };
      const own = stored.get(keyOf(send));
      if (!own) return { kind: 'stale' };
      return { kind: fresh.includes(send) ? 'stored' : 'known', stored: own };
    });
  }

  /** Has one side blocked the other? Under the chat's row, which a block takes, too: it is before this or after it. */
  async blocked(tx: Querying, topic: Topic): Promise<boolean> {
    const [a, b] = sidesOf(topic);
    return b !== undefined && (await this.relations.blockedIn(tx, a, b));
  }

  /** What the client ids of these sends hold already; nobody can store another one while the chat's row is held. */
  private async known(tx: Querying, topic: Topic, sends: readonly DirectSend[]): Promise<Map<string, StoredDirect>> {
    const found = new Map<string, StoredDirect>();
    for (const from of new Set(sends.map((send) => send.from))) {
      const ids = sends.filter((send) => send.from === from).map((send) => send.body.draft.clientMsgId);
      const rows = (await tx.query(
        `SELECT ${KEY_COLUMNS} FROM im_messages WHERE topic = ? AND from_user = ? AND client_msg_id IN (?)`,
        [topic, BigInt(from), ids],
      )) as KeyRow[];
      for (const row of rows) found.set(`${row.from_user} ${row.client_msg_id}`, storedOf(row));
    }
    return found;
  }

  private async insert(
    tx: Querying,
    topic: Topic,
    last: number,
    sends: readonly DirectSend[],
    idStep: bigint,
  ): Promise<Map<string, StoredDirect>> {
    if (sends.length === 0) return new Map();
    const result = (await tx.query(
      `INSERT INTO im_messages (topic, seqid, from_user, client_msg_id, digest, msg_type, content, head, mentioned_user_ids,
         reply_seqid, root_seqid, content_size, created_at, updated_at) VALUES ?`,
      [sends.map((send, index) => valuesOf(topic, last + 1 + index, send))],
    )) as { insertId: string | number };
    await this.topics.setDirectSeq(tx, topic, last + sends.length);
    if (last === 0) await this.list(tx, topic);
    const firstId = BigInt(result.insertId);
    return new Map(
      sends.map((send, index) => {
        const { createdAt, digest } = send.body;
        const id = String(firstId + BigInt(index) * idStep);
        return [keyOf(send), { seq: last + 1 + index, id, createdAt, digest }];
      }),
    );
  }

  /** From the first message on the chat is one of each side's conversations. */
  private async list(tx: Querying, topic: Topic): Promise<void> {
    const now = new Date();
    await tx.query(
      'INSERT INTO im_direct_chats (uid, topic, opened_at) VALUES ? ON DUPLICATE KEY UPDATE opened_at = opened_at',
      [sidesOf(topic).map((uid) => [BigInt(uid), topic, now])],
    );
  }
}

const keyOf = (send: DirectSend): string => `${send.from} ${send.body.draft.clientMsgId}`;

function valuesOf(topic: Topic, seq: number, { from, body }: DirectSend): unknown[] {
  const { draft, digest, contentText, headText, mentionsText, createdAt } = body;
  return [
    ...[topic, seq, BigInt(from), draft.clientMsgId, digest, draft.type, contentText, headText, mentionsText],
    ...[draft.replySeq, draft.rootSeq, Buffer.byteLength(contentText), createdAt, createdAt],
  ];
}

const storedOf = (row: KeyRow): StoredDirect => ({
  seq: Number(row.seqid),
  id: String(row.id),
  createdAt: row.created_at,
  digest: row.digest,
});
