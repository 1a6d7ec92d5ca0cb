import { Injectable } from '@nestjs/common';
import { escape } from 'mysql2';
import type { ErrorCode } from '../../platform/errors/error-table.js';
import type { Seq, TenantId, Topic, UserId } from '../../platform/ids/ids.js';
import { Coalesced } from '../../platform/mysql/coalesced.js';
import { TenantDataSources } from '../../platform/mysql/tenant-data-sources.js';
import { CommitUnknown, type WriterSession } from '../../platform/mysql/writer-pool.js';
import { GroupService } from '../group/group.service.js';
import { decide } from '../group/group.types.js';
import { TopicService, type TopicFence } from '../topic/topic.service.js';
import { MESSAGE_COLUMNS, type MessageRow, type PendingRow } from './message-row.js';
import { PageRow, type PageValues } from './page-row.js';

/** A stored message as far as a retry needs it. */
export interface StoredMessage {
  readonly seq: number;
  readonly id: string;
  readonly digest: Buffer;
  readonly createdAt: Date;
}

/** What became of one row of a fenced insert. */
export type RowOutcome =
  | { readonly kind: 'stored'; readonly id: string }
  /** The client id has a row already. */
  | { readonly kind: 'duplicate'; readonly stored: StoredMessage }
  /** Another message holds this number: Redis went back in time. */
  | { readonly kind: 'seq-taken' }
  /** The epoch that it was admitted under is over. */
  | { readonly kind: 'fenced' }
  /** The permission has changed meanwhile. */
  | { readonly kind: 'denied'; readonly code: ErrorCode };

export type TombstoneOutcome =
  | { readonly kind: 'void' }
  /** Another message holds the number. */
  | { readonly kind: 'taken' }
  /** The message itself is there: an unknown outcome has become known. */
  | { readonly kind: 'stored'; readonly id: string }
  | { readonly kind: 'fenced' };

interface KeyRow {
  readonly topic: string;
  readonly seqid: string;
  readonly id: string;
  readonly from_user: string;
  readonly client_msg_id: string | null;
  readonly digest: Buffer | null;
  readonly created_at: Date;
}

const KEY_COLUMNS = 'topic, seqid, id, from_user, client_msg_id, digest, created_at';

const INSERT_COLUMNS =
  'topic, group_id, seqid, from_user, client_msg_id, digest, msg_type, status, content, head, mentioned_user_ids, ' +
  'mention_all, reply_seqid, root_seqid, content_size, created_at, updated_at';

/** An unchanged duplicate counts as no affected row (`-FOUND_ROWS`), so that one duplicate does not fail its neighbours. */
const KEEP_EXISTING = 'ON DUPLICATE KEY UPDATE seqid = seqid';

/** The only place that knows the table of group messages. */
@Injectable()
export class GroupMessageStore {
  /** Pages of one group that many read at once, after its hot set was lost for example. */
  private readonly reads = new Coalesced<PageRow[]>();

  constructor(
    private readonly tenants: TenantDataSources,
    private readonly topics: TopicService,
    private readonly groups: GroupService,
  ) {}

  /**
   * Inserts admitted rows in one fenced transaction.
   * @returns one outcome per row, in order. @throws CommitUnknown, or any error that means that no row was stored
   */
  insert(tenant: TenantId, rows: readonly PendingRow[]): Promise<RowOutcome[]> {
    return this.tenants.run(tenant, async (db) => {
      const idStep = await db.autoIncrementStep();
      return db.writer.transaction((session) => this.insertFenced(session, rows, idStep));
    });
  }

  /**
   * Stores a void row at a number that will not be used, under the same fence; it waits for a transaction that is still
   * open on that number. @throws when it stayed unknown what the number holds
   */
  tombstone(tenant: TenantId, row: PendingRow): Promise<TombstoneOutcome> {
    return this.tenants.run(tenant, (db) =>
      db.writer.transaction(async (session): Promise<TombstoneOutcome> => {
        const fence = (await this.topics.fence(session, [row.topic])).get(row.topic);
        if (fence?.epoch !== row.epoch) return { kind: 'fenced' };
        const { affectedRows } = await session.writeAndCommit(...voidInsert(row.topic, row.groupId, row.seq, row.from));
        if (affectedRows > 0) return { kind: 'void' };
        const [holder] = await session.rows<KeyRow>(
          `SELECT ${KEY_COLUMNS} FROM im_group_messages WHERE topic = ? AND seqid = ?`,
          [row.topic, row.seq],
        );
        if (isSame(holder, row)) return { kind: 'stored', id: holder.id };
        return { kind: holder.client_msg_id === null ? 'void' : 'taken' };
      }),
    );
  }

  /** @returns false when the number holds a row already */
  async insertVoid(session: WriterSession, topic: Topic, groupId: string, seq: number, from: string): Promise<boolean> {
    return (await session.write(...voidInsert(topic, groupId, seq, from))).affectedRows > 0;
  }

  async maxSeq(session: WriterSession, topic: Topic): Promise<number> {
    const [row] = await session.rows<{ top: string | null }>(
      'SELECT MAX(seqid) AS top FROM im_group_messages WHERE topic = ?',
      [topic],
    );
    return Number(row.top ?? 0);
  }

  /** Highest stored number, for readers while the counter is in doubt. */
  async lastStoredSeq(tenant: TenantId, topic: Topic): Promise<number> {
    const [row] = await this.tenants.run(tenant, (db) =>
      db.query<{ top: string | null }>('SELECT MAX(seqid) AS top FROM im_group_messages WHERE topic = ?', [topic]),
    );
    return Number(row.top ?? 0);
  }

  async findByClientId(
    tenant: TenantId,
    topic: Topic,
    from: UserId,
    clientMsgId: string,
  ): Promise<StoredMessage | null> {
    const [row] = await this.tenants.run(tenant, (db) =>
      db.query<KeyRow>(
        `SELECT ${KEY_COLUMNS} FROM im_group_messages WHERE topic = ? AND from_user = ? AND client_msg_id = ?`,
        [topic, BigInt(from), clientMsgId],
      ),
    );
    return row ? storedOf(row) : null;
  }

  /** Rows above `afterSeq`, ascending, void ones included. */
  rowsAfter(tenant: TenantId, topic: Topic, afterSeq: number, limit: number): Promise<PageRow[]> {
    return this.shared(tenant, topic, `> ${afterSeq} ${limit}`, [
      `SELECT ${MESSAGE_COLUMNS} FROM im_group_messages WHERE topic = ? AND seqid > ? ORDER BY seqid LIMIT ?`,
      [topic, afterSeq, limit],
    ]);
  }

  /** Rows below `beforeSeq` (null: from the newest) down to above `floorSeq`, descending, void ones included. */
  rowsBefore(
    tenant: TenantId,
    topic: Topic,
    beforeSeq: number | null,
    floorSeq: number,
    limit: number,
  ): Promise<PageRow[]> {
    const before = beforeSeq ?? Number.MAX_SAFE_INTEGER;
    return this.shared(tenant, topic, `< ${before} ${floorSeq} ${limit}`, [
      `SELECT ${MESSAGE_COLUMNS} FROM im_group_messages
       WHERE topic = ? AND seqid < ? AND seqid > ? ORDER BY seqid DESC LIMIT ?`,
      [topic, before, floorSeq, limit],
    ]);
  }

  async rowAt(tenant: TenantId, topic: Topic, seq: Seq | number): Promise<MessageRow | null> {
    const [row] = await this.tenants.run(tenant, (db) =>
      db.query<MessageRow>(`SELECT ${MESSAGE_COLUMNS} FROM im_group_messages WHERE topic = ? AND seqid = ?`, [
        topic,
        seq,
      ]),
    );
    return row ?? null;
  }

  /** Messages by seq; numbers that hold none are left out. */
  rowsOf(tenant: TenantId, topic: Topic, seqs: readonly number[]): Promise<MessageRow[]> {
    return this.tenants.run(tenant, (db) =>
      db.query<MessageRow>(
        `SELECT ${MESSAGE_COLUMNS} FROM im_group_messages WHERE topic = ? AND seqid IN (?) AND status <> 'void'`,
        [topic, seqs],
      ),
    );
  }

  private shared(
    tenant: TenantId,
    topic: Topic,
    range: string,
    [sql, values]: [string, unknown[]],
  ): Promise<PageRow[]> {
    return this.reads.run(`${tenant} ${topic} ${range}`, async () => {
      const rows = await this.tenants.run(tenant, (db) => db.rows<PageValues>(sql, values));
      return rows.map((row) => new PageRow(topic, row));
    });
  }

  private async insertFenced(
    session: WriterSession,
    rows: readonly PendingRow[],
    idStep: bigint,
  ): Promise<RowOutcome[]> {
    const fences = await this.topics.fence(session, [...new Set(rows.map((row) => row.topic))]);
    const outcomes = new Map<PendingRow, RowOutcome>();
    for (const row of rows) {
      if (fences.get(row.topic)?.epoch !== row.epoch) outcomes.set(row, { kind: 'fenced' });
    }
    await this.recheck(session, rows, fences, outcomes);
    const open = rows.filter((row) => !outcomes.has(row));
    if (open.length > 0) await this.insertOpen(session, open, idStep, outcomes);
    return rows.map((row) => outcomes.get(row)!);
  }

  /** Permissions that changed since a row was admitted are decided again, under the fence; most batches need no query. */
  private async recheck(
    session: WriterSession,
    rows: readonly PendingRow[],
    fences: ReadonlyMap<Topic, TopicFence>,
    outcomes: Map<PendingRow, RowOutcome>,
  ): Promise<void> {
    const changed = new Map<Topic, PendingRow[]>();
    for (const row of rows) {
      if (outcomes.has(row) || fences.get(row.topic)!.aclVersion === row.aclVersion) continue;
      changed.set(row.topic, [...(changed.get(row.topic) ?? []), row]);
    }
    for (const [topic, suspects] of changed) {
      const access = await this.groups.recheck(session, topic, [...new Set(suspects.map((row) => row.from))]);
      for (const row of suspects) {
        const code = decide(access.get(row.from)!, row.body.draft.mentionAll ? 'mentionAll' : 'send', Date.now());
        if (code) outcomes.set(row, { kind: 'denied', code });
      }
    }
  }

  private async insertOpen(
    session: WriterSession,
    rows: readonly PendingRow[],
    idStep: bigint,
    outcomes: Map<PendingRow, RowOutcome>,
  ): Promise<void> {
    const result = await session.writeAndCommit(
      `INSERT INTO im_group_messages (${INSERT_COLUMNS}) VALUES ${rows.map(insertValues).join(',')} ${KEEP_EXISTING}`,
    );
    if (result.affectedRows === rows.length) {
      const first = BigInt(result.insertId);
      rows.forEach((row, index) => outcomes.set(row, { kind: 'stored', id: String(first + BigInt(index) * idStep) }));
      return;
    }
    // They are committed: whoever cannot read them now does not know which, but must not call them not stored.
    await this.classify(session, rows, outcomes).catch((cause: unknown) => {
      throw new CommitUnknown({ cause });
    });
  }

  /** Some row was a duplicate: what each number and each client id holds tells which, and of what. */
  private async classify(
    session: WriterSession,
    rows: readonly PendingRow[],
    outcomes: Map<PendingRow, RowOutcome>,
  ): Promise<void> {
    const bySeq = await session.rows<KeyRow>(
      `SELECT ${KEY_COLUMNS} FROM im_group_messages WHERE (topic, seqid) IN (?)`,
      [rows.map((row) => [row.topic, row.seq])],
    );
    const byClient = await session.rows<KeyRow>(
      `SELECT ${KEY_COLUMNS} FROM im_group_messages WHERE (topic, from_user, client_msg_id) IN (?)`,
      [rows.map((row) => [row.topic, BigInt(row.from), row.body.draft.clientMsgId])],
    );
    const seqs = new Map(bySeq.map((row) => [`${row.topic} ${row.seqid}`, row]));
    const clients = new Map(byClient.map((row) => [`${row.topic} ${row.from_user} ${row.client_msg_id}`, row]));
    for (const row of rows) {
      const stored = clients.get(`${row.topic} ${row.from} ${row.body.draft.clientMsgId}`);
      if (stored && Number(stored.seqid) === row.seq && isSame(stored, row))
        outcomes.set(row, { kind: 'stored', id: stored.id });
      else if (stored) outcomes.set(row, { kind: 'duplicate', stored: storedOf(stored) });
      else if (seqs.has(`${row.topic} ${row.seq}`)) outcomes.set(row, { kind: 'seq-taken' });
      else throw new Error(`row ${row.topic} ${row.seq} was neither stored nor a duplicate`);
    }
  }
}

/** Is it the row of exactly this message, not only of its client id? */
function isSame(stored: KeyRow, row: PendingRow): boolean {
  return (
    stored.from_user === row.from &&
    stored.client_msg_id === row.body.draft.clientMsgId &&
    stored.digest !== null &&
    row.body.digest.equals(stored.digest)
  );
}

/** A void row has the writer's uid and neither client id nor digest. */
function voidInsert(topic: Topic, groupId: string, seq: number, from: string): [string, unknown[]] {
  const now = new Date();
  return [
    `INSERT INTO im_group_messages (topic, group_id, seqid, from_user, status, created_at, updated_at)
     VALUES (?, ?, ?, ?, 'void', ?, ?) ${KEEP_EXISTING}`,
    [topic, BigInt(groupId), seq, BigInt(from), now, now],
  ];
}

/** A row as SQL text. Made by hand: the driver's formatting of numbers, times and digests costs four times as much. */
function insertValues({ topic, groupId, seq, from, body }: PendingRow): string {
  const { draft, digestHex, contentText, headText, mentionsText, contentBytes, sqlTime } = body;
  const who = `${sqlText(topic)},${sqlNumber(groupId)},${sqlNumber(seq)},${sqlNumber(from)}`;
  const what = `${sqlText(draft.clientMsgId)},X'${digestHex}',${sqlText(draft.type)},'normal'`;
  const texts = `${sqlJson(contentText)},${sqlJson(headText)},${sqlJson(mentionsText)}`;
  const numbers = `${draft.mentionAll ? 1 : 0},${sqlNumber(draft.replySeq)},${sqlNumber(draft.rootSeq)},${contentBytes}`;
  return `(${who},${what},${texts},${numbers},${sqlTime},${sqlTime})`;
}

/** Words without any character that needs an escape, as most are, are quoted as they stand. */
const PLAIN = /^[\w :.-]*$/;
const DIGITS = /^\d+$/;

const sqlText = (value: string): string => (PLAIN.test(value) ? `'${value}'` : escape(value));

/** JSON text, in which control characters are escapes already: only quotes and backslashes are left to escape. */
const sqlJson = (json: string | null): string => (json === null ? 'NULL' : `'${json.replace(/['"\\]/g, '\\$&')}'`);

/** @throws Error for anything but a whole number: it goes into the statement as it is */
function sqlNumber(value: string | number | null): string {
  if (value === null) return 'NULL';
  const text = String(value);
  if (!DIGITS.test(text)) throw new Error('not a number');
  return text;
}

const storedOf = (row: KeyRow): StoredMessage => ({
  seq: Number(row.seqid),
  id: String(row.id),
  digest: row.digest ?? Buffer.alloc(0),
  createdAt: row.created_at,
});
