import type { Seq, Topic, UserId } from '../../platform/ids/ids.js';
import type { RawJson } from '../../platform/wire/raw-json.js';

export type MessageType = 'text' | 'image' | 'file' | 'audio' | 'video' | 'system' | 'custom';
export type MessageStatus = 'normal' | 'recalled' | 'deleted' | 'blocked';

/** What a client asks to send; its shape was checked at the edge. */
export interface MessageDraft {
  readonly topic: Topic;
  readonly clientMsgId: string;
  readonly type: MessageType;
  readonly content: object;
  readonly head: object | null;
  readonly mentionedUserIds: readonly UserId[];
  readonly mentionAll: boolean;
  readonly replySeq: Seq | null;
  readonly rootSeq: Seq | null;
}

/** A message on the wire. */
export interface Message {
  readonly id: string;
  readonly topic: Topic;
  readonly seq: Seq;
  readonly from: UserId;
  readonly clientMsgId: string;
  readonly type: MessageType;
  /** Null unless the status is normal. */
  readonly content: object | null;
  readonly head: object | null;
  readonly mentionedUserIds: readonly UserId[];
  readonly mentionAll: boolean;
  readonly replySeq: Seq | null;
  readonly rootSeq: Seq | null;
  readonly status: MessageStatus;
  readonly version: number;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** What a message that quotes another one shows of it; composed whenever it is read. */
export interface Quote {
  readonly seq: Seq;
  readonly from: UserId;
  readonly type: MessageType;
  readonly status: MessageStatus;
  readonly version: number;
  /** The beginning of a text, or the name of a file; null when it has none, or is gone. */
  readonly text: string | null;
}

export interface SendAnswer {
  readonly seq: Seq;
  readonly messageId: string;
  readonly createdAt: string;
  /** The message was stored by an earlier attempt with the same client id. */
  readonly duplicate: boolean;
}

/** The `messages` frame. */
export interface MessagesFrame {
  readonly topic: Topic;
  /** Ascending by seq. */
  readonly messages: readonly Message[];
  /** Numbers that were given out and will never hold a message. */
  readonly voids: readonly Seq[];
  /** A hint; never moves a client's cursor. */
  readonly stableSeq: number;
  /** Absent when nothing is quoted. */
  readonly quotes?: readonly Quote[];
}

export interface HistoryQuery {
  readonly afterSeq?: Seq;
  readonly beforeSeq?: Seq;
  /** Most messages to return, 1..200. */
  readonly limit: number;
}

export interface PageHead {
  /** The last seq examined, filtered rows included. */
  readonly nextAfterSeq: number;
  /** Every seq at or below it is stored or a hole for good; read before the rows were. */
  readonly stableSeq: number;
  /** Numbers in flight included: a hint that there may be more. */
  readonly lastSeq: number;
  readonly hasMore: boolean;
  readonly source: 'hot' | 'mysql';
}

/** A page of history. Readers may share one, so nothing in it may be changed. */
export interface HistoryPage extends PageHead {
  /** Ascending by seq; parsed for whoever asks. */
  readonly messages: readonly Message[];
  /** Ascending by seq; on the wire only when there are any. */
  readonly quotes: readonly Quote[];
  /** The page as it goes to a client, whose messages need not be parsed. */
  readonly answer: RawJson;
}

export interface TopicHead {
  readonly stableSeq: number;
  readonly lastSeq: number;
}

/** What is wrong with a part of a message. */
export interface ContentProblem {
  readonly field: string;
  readonly problem: string;
}

export type MessageChange =
  | {
      readonly kind: 'edit';
      readonly content: object;
      /** The version that was edited. */
      readonly version: number;
      /** Content rules by the type of the stored message. */
      readonly check: (type: string) => ContentProblem | null;
    }
  | { readonly kind: 'recall' | 'remove' };

export interface ChangeAnswer {
  readonly version: number;
  readonly updatedAt: string;
}

/** A message after a change; `change` is the topic's change number, without holes. */
export interface ChangedMessage {
  readonly topic: Topic;
  readonly seq: Seq;
  readonly version: number;
  readonly status: MessageStatus;
  /** Absent unless the status is normal. */
  readonly content?: object | null;
  readonly updatedAt: string;
  readonly change: number;
}

export interface ChangesPage {
  /** Ascending by change number, each with its message's present state. */
  readonly changes: readonly ChangedMessage[];
  readonly nextAfterChange: number;
  readonly lastChange: number;
  readonly hasMore: boolean;
}

declare module '../../platform/socket/events.js' {
  interface ServerEvents {
    messages: MessagesFrame;
    'message:changed': ChangedMessage;
    /** Deleted for oneself, to own devices. */
    'message:hidden': { readonly topic: Topic; readonly seqs: readonly Seq[] };
  }
}
