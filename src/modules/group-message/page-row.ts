import type { Topic } from '../../platform/ids/ids.js';

/** Columns of a page's row as `MESSAGE_COLUMNS` names them; BIGINT as text, DATETIME as text in UTC. */
export type PageValues = readonly [
  id: string,
  seqid: string,
  fromUser: string,
  clientMsgId: string | null,
  type: string,
  status: string,
  content: string | null,
  head: string | null,
  mentionedUserIds: string | null,
  mentionAll: number,
  replySeqid: string | null,
  rootSeqid: string | null,
  version: number,
  createdAt: string,
  updatedAt: string,
];

const PLAIN = /^[\w.:-]*$/;
const quoted = (text: string): string => (PLAIN.test(text) ? `"${text}"` : JSON.stringify(text));
/** `YYYY-MM-DD hh:mm:ss.fff` in ISO 8601. */
const iso = (time: string): string => `${time.slice(0, 10)}T${time.slice(11)}Z`;

/**
 * A row on its way to a page: the message's JSON is put together from what is stored as JSON already, byte for byte what
 * `JSON.stringify(messageOf(…))` gives. Readers share rows; the text is made once.
 */
export class PageRow {
  readonly seq: number;
  readonly isVoid: boolean;
  private made?: string;
  private size?: number;

  constructor(
    private readonly topic: Topic,
    private readonly values: PageValues,
  ) {
    this.seq = Number(values[1]);
    this.isVoid = values[5] === 'void';
  }

  /** Of the message; a recalled, deleted or blocked one shows no content. Not for void rows. */
  get text(): string {
    this.made ??= textOf(this.topic, this.values);
    return this.made;
  }

  /** What the text takes in a page, its comma included. */
  get bytes(): number {
    this.size ??= Buffer.byteLength(this.text) + 1;
    return this.size;
  }

  /** As a member of the hot set. */
  get member(): string {
    return `${this.values[12]}:${this.text}`;
  }
}

function textOf(topic: Topic, values: PageValues): string {
  const [
    id,
    seq,
    from,
    clientMsgId,
    type,
    status,
    content,
    head,
    mentions,
    mentionAll,
    reply,
    root,
    version,
    ...times
  ] = values;
  const visible = status === 'normal';
  const shown = (text: string | null, none: string): string => (visible && text !== null ? text : none);
  return (
    `{"id":"${id}","topic":"${topic}","seq":${seq},"from":"${from}","clientMsgId":${quoted(clientMsgId ?? '')},` +
    `"type":"${type}","content":${shown(content, 'null')},"head":${shown(head, 'null')},` +
    `"mentionedUserIds":${shown(mentions, '[]')},"mentionAll":${visible && Number(mentionAll) === 1},` +
    `"replySeq":${reply ?? 'null'},"rootSeq":${root ?? 'null'},"status":"${status}","version":${version},` +
    `"createdAt":"${iso(times[0])}","updatedAt":"${iso(times[1])}"}`
  );
}
