import { canonicalOf, digestOfText } from '../../platform/ids/canonical-json.js';
import { groupIdOf } from '../../platform/ids/topic.js';
import { asSeq, asUserId, type Seq, type Topic, type UserId } from '../../platform/ids/ids.js';
import { PageRow } from './page-row.js';
import type { ChangedMessage, Message, MessageDraft, MessageStatus, MessageType } from './group-message.types.js';

/** A message that was admitted and waits for its row. */
export interface PendingRow {
  readonly topic: Topic;
  readonly groupId: string;
  readonly seq: Seq;
  readonly epoch: number;
  /** Version of the permission it was admitted under. */
  readonly aclVersion: number;
  readonly from: UserId;
  readonly body: MessageBody;
}

/** The part of a row that does not change when a message is admitted again under another number. */
export interface MessageBody {
  readonly draft: MessageDraft;
  readonly digest: Buffer;
  readonly digestHex: string;
  readonly createdAt: Date;
  /** `createdAt` as it goes over the wire. */
  readonly time: string;
  /** `createdAt` as a quoted UTC literal. */
  readonly sqlTime: string;
  /** JSON texts as they are stored. */
  readonly contentText: string;
  readonly headText: string | null;
  readonly mentionsText: string | null;
  readonly contentBytes: number;
  /** Size of the row's texts, bytes; what queue and batch limits count. */
  readonly bytes: number;
}

/** What a page reads; BIGINT columns come as strings. */
export interface MessageRow {
  readonly id: string;
  readonly seqid: string;
  readonly from_user: string;
  readonly client_msg_id: string | null;
  readonly msg_type: string;
  readonly status: MessageStatus | 'void';
  readonly content: string | null;
  readonly head: string | null;
  readonly mentioned_user_ids: string | null;
  readonly mention_all: number;
  readonly reply_seqid: string | null;
  readonly root_seqid: string | null;
  readonly version: number;
  readonly created_at: Date;
  readonly updated_at: Date;
}

/** Columns of `MessageRow`, for SELECT. */
export const MESSAGE_COLUMNS =
  'id, seqid, from_user, client_msg_id, msg_type, status, content, head, mentioned_user_ids, mention_all, ' +
  'reply_seqid, root_seqid, version, created_at, updated_at';

export function bodyOf(draft: MessageDraft, createdAt: Date): MessageBody {
  const contentText = JSON.stringify(draft.content);
  const headText = draft.head === null ? null : JSON.stringify(draft.head);
  const mentionsText = draft.mentionedUserIds.length === 0 ? null : JSON.stringify(draft.mentionedUserIds);
  const contentBytes = Buffer.byteLength(contentText);
  const bytes = contentBytes + (headText ? Buffer.byteLength(headText) : 0) + (mentionsText?.length ?? 0) + 256;
  const time = createdAt.toISOString();
  const sqlTime = `'${time.slice(0, 10)} ${time.slice(11, 23)}'`;
  const digest = digestOfText(digestedText(draft, contentText, headText, mentionsText));
  const digestHex = digest.toString('hex');
  return {
    draft,
    digest,
    digestHex,
    createdAt,
    time,
    sqlTime,
    contentText,
    headText,
    mentionsText,
    contentBytes,
    bytes,
  };
}

/** Canonical JSON of what a retry must repeat, put together from texts that are there already. */
function digestedText(draft: MessageDraft, content: string, head: string | null, mentions: string | null): string {
  return (
    `{"content":${canonicalOf(draft.content, () => content)},"head":${canonicalOf(draft.head, () => head ?? 'null')},` +
    `"mentionAll":${draft.mentionAll},"mentions":${mentions ?? '[]'},` +
    `"reply":${draft.replySeq},"root":${draft.rootSeq},"type":"${draft.type}"}`
  );
}

export function pendingRow(
  body: MessageBody,
  from: UserId,
  admitted: { readonly seq: number; readonly epoch: number; readonly aclVersion: number },
): PendingRow {
  const { topic } = body.draft;
  const { seq, epoch, aclVersion } = admitted;
  return { topic, groupId: groupIdOf(topic), from, body, epoch, aclVersion, seq: asSeq(seq) };
}

/** The row as a page will read it back, without reading it back. */
export function freshRow(
  { topic, seq, from, body }: Pick<PendingRow, 'topic' | 'seq' | 'from' | 'body'>,
  id: string,
): PageRow {
  const { draft, contentText, headText, mentionsText, time } = body;
  const stored = `${time.slice(0, 10)} ${time.slice(11, 23)}`;
  return new PageRow(topic, [
    id,
    String(seq),
    from,
    draft.clientMsgId,
    draft.type,
    'normal',
    contentText,
    headText,
    mentionsText,
    draft.mentionAll ? 1 : 0,
    draft.replySeq === null ? null : String(draft.replySeq),
    draft.rootSeq === null ? null : String(draft.rootSeq),
    1,
    stored,
    stored,
  ]);
}

const parsed = <T>(text: string | null): T | null => (text === null ? null : (JSON.parse(text) as T));
const seqOrNull = (text: string | null): Seq | null => (text === null ? null : asSeq(Number(text)));

/** A message as its changes are told. */
export function changedMessage(message: Message, change: number): ChangedMessage {
  const { topic, seq, version, status, content, updatedAt } = message;
  return { topic, seq, version, status, ...(status === 'normal' ? { content } : {}), updatedAt, change };
}

/** A stored row as a message; a recalled, deleted or blocked one shows no content. Not for void rows. */
export function messageOf(topic: Topic, row: MessageRow): Message {
  const visible = row.status === 'normal';
  return {
    id: row.id,
    topic,
    seq: asSeq(Number(row.seqid)),
    from: asUserId(row.from_user),
    clientMsgId: row.client_msg_id ?? '',
    type: row.msg_type as MessageType,
    content: visible ? parsed<object>(row.content) : null,
    head: visible ? parsed<object>(row.head) : null,
    mentionedUserIds: visible ? (parsed<UserId[]>(row.mentioned_user_ids) ?? []) : [],
    mentionAll: visible && Number(row.mention_all) === 1,
    replySeq: seqOrNull(row.reply_seqid),
    rootSeq: seqOrNull(row.root_seqid),
    status: row.status as MessageStatus,
    version: row.version,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  };
}
