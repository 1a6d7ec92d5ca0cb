/**
 * The wire of Trident IM, version 1: every event and payload of both directions, as the protocol page has them.
 * Ids are decimal strings, numbers of messages (`seq`), versions and counts are numbers, times are ISO 8601 UTC.
 */

export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };
export type JsonObject = { [key: string]: JsonValue };

export const ERROR_CODES = [
  'UNAUTHENTICATED',
  'TOKEN_EXPIRED',
  'FORBIDDEN',
  'NOT_MEMBER',
  'MUTED',
  'BLOCKED',
  'TENANT_UNKNOWN',
  'TENANT_DISABLED',
  'NOT_FOUND',
  'VALIDATION_FAILED',
  'PAYLOAD_TOO_LARGE',
  'CONFLICT',
  'IDEMPOTENCY_CONFLICT',
  'IN_PROGRESS',
  'RATE_LIMITED',
  'CAPTCHA_INVALID',
  'CAPTCHA_EXPIRED',
  'CAPTCHA_LOCKED',
  'TOKEN_USED',
  'SEQ_UNAVAILABLE',
  'STORAGE_UNAVAILABLE',
  'SHORT_STATE_UNAVAILABLE',
  'OVERLOADED',
  'GROUP_DISMISSED',
  'UNKNOWN_EVENT',
  'INTERNAL',
] as const;
export type ErrorCode = (typeof ERROR_CODES)[number];

/** The error object of a refused call. `retryAfterMs` is the earliest moment, in milliseconds, to try again. */
export interface WireError {
  code: ErrorCode;
  message: string;
  retryable: boolean;
  retryAfterMs?: number;
  details?: JsonValue;
}

export type Failure = { ok: false; error: WireError };
export type Ack<T> = ({ ok: true } & T) | Failure;

// ---- messages -------------------------------------------------------------------------------------------------

/** `offset` and `length` count UTF-16 units of `text`. */
export interface TextEntity {
  type: string;
  offset: number;
  length: number;
  data?: JsonObject;
}
export interface TextContent {
  text: string;
  entities?: TextEntity[];
}
/** Metadata of a stored object, never its bytes. `size` in bytes, `durationMs` in milliseconds. */
export interface FileContent {
  objectKey: string;
  name?: string;
  mime: string;
  size: number;
  width?: number;
  height?: number;
  durationMs?: number;
  thumbKey?: string;
}
export interface SystemContent {
  kind: string;
  params: JsonObject;
}
export interface CustomContent {
  schema: string;
  data: JsonObject;
}
export interface ContentByType {
  text: TextContent;
  image: FileContent;
  file: FileContent;
  audio: FileContent;
  video: FileContent;
  system: SystemContent;
  custom: CustomContent;
}
export type MessageType = keyof ContentByType;
/** What a user may send; `system` messages are written by the server only. */
export type SendableType = Exclude<MessageType, 'system'>;
export type MessageContent = ContentByType[MessageType];
export type MessageStatus = 'normal' | 'recalled' | 'deleted' | 'blocked';

export interface MessageHead {
  /** seq of the quoted message of the same topic */
  quote?: number;
  forwarded?: JsonValue;
  client?: JsonValue;
}

interface MessageFields {
  id: string;
  topic: string;
  seq: number;
  from: string;
  clientMsgId: string | null;
  head: MessageHead | null;
  mentionedUserIds: string[];
  mentionAll: boolean;
  replySeq: number | null;
  rootSeq: number | null;
  status: MessageStatus;
  /** counts changes of this message; the higher one is the newer one */
  version: number;
  createdAt: string;
  updatedAt: string;
}
export type MessageOf<T extends MessageType> = MessageFields & { type: T; content: ContentByType[T] | null };
/** A stored message. `content` is null once it is recalled, deleted or blocked. */
export type Message = { [T in MessageType]: MessageOf<T> }[MessageType];

export type SendPayload = {
  [T in SendableType]: {
    topic: string;
    clientMsgId: string;
    type: T;
    content: ContentByType[T];
    head?: MessageHead;
    mentionedUserIds?: string[];
    mentionAll?: boolean;
    replySeq?: number;
    rootSeq?: number;
  };
}[SendableType];
export interface SendOk {
  seq: number;
  messageId: string;
  createdAt: string;
  /** true: this client id was stored by an earlier try */
  duplicate: boolean;
}

// ---- topics ---------------------------------------------------------------------------------------------------

export type GroupRole = 'owner' | 'admin' | 'member';

/** `lastSeq` counts numbers in flight too: a hint that there may be more, not the newest message. */
export interface TopicHead {
  topic: string;
  lastSeq: number;
  stableSeq: number;
  readSeq: number;
  role?: GroupRole | null;
  onlineCount?: number | null;
  /** newest change number of the topic; absent on older servers */
  lastChange?: number;
  error?: undefined;
}
export type TopicHeadAnswer = TopicHead | { topic: string; error: WireError };

/** What a message with `head.quote` shows of the quoted one; composed whenever it is read. */
export interface Quote {
  seq: number;
  from: string;
  type: MessageType;
  status: MessageStatus;
  version: number;
  /** the first 200 code points of a text, the name of a file; null when it has none, or is gone */
  text: string | null;
}

export interface HistoryPage {
  /** ascending by seq */
  messages: Message[];
  /** the last seq examined, filtered rows included */
  nextAfterSeq: number;
  /** every seq at or below it is stored or a hole for good */
  stableSeq: number;
  lastSeq: number;
  hasMore: boolean;
  source?: 'hot' | 'mysql';
  /** ascending by seq; absent when nothing is quoted, or nothing of it may be read */
  quotes?: Quote[];
}

/** A change of a stored message. `change` is the number of the change in its topic, without holes. */
export interface MessageChange {
  topic: string;
  seq: number;
  version: number;
  status: MessageStatus;
  content?: MessageContent | null;
  updatedAt: string;
  change?: number;
}
export interface ChangesPage {
  /** ascending by change number */
  changes: (MessageChange & { change: number })[];
  nextAfterChange: number;
  hasMore: boolean;
  lastChange: number;
}

// ---- presence -------------------------------------------------------------------------------------------------

export type PresenceState = 'online' | 'offline' | 'unknown' | 'hidden';
export type DeviceKind = 'ios' | 'android' | 'web' | 'desktop';
export interface Presence {
  uid: string;
  state: PresenceState;
  lastSeenAt?: string | null;
  devices?: string[];
}

// ---- calls of the client --------------------------------------------------------------------------------------

interface Call<P, R> {
  payload: P;
  ok: R;
}
type Nothing = Record<never, never>;

/** Every client event with its payload and what a successful ack adds to `{ ok: true }`. */
export interface ClientCalls {
  'topic:subscribe': Call<{ topics: string[] }, { topics: TopicHeadAnswer[] }>;
  'topic:unsubscribe': Call<{ topics: string[] }, Nothing>;
  'message:send': Call<SendPayload, SendOk>;
  'message:edit': Call<
    { topic: string; seq: number; content: MessageContent; version: number },
    { version: number; updatedAt: string }
  >;
  'message:recall': Call<{ topic: string; seq: number }, { version: number }>;
  'message:delete': Call<{ topic: string; seqs: number[] }, Nothing>;
  'message:remove': Call<{ topic: string; seq: number }, { version: number }>;
  'message:history': Call<{ topic: string; afterSeq?: number; beforeSeq?: number; limit?: number }, HistoryPage>;
  'topic:changes': Call<{ topic: string; afterChange: number; limit?: number }, ChangesPage>;
  'topic:read': Call<{ topic: string; seq: number }, { readSeq: number; unread: number; totalUnread: number }>;
  'topic:received': Call<{ topic: string; seq: number }, { receivedSeq: number }>;
  'topic:typing': Call<{ topic: string }, Nothing>;
  'presence:get': Call<{ uids: string[] }, { presences: Presence[] }>;
  'presence:watch': Call<{ uids: string[] }, { presences: Presence[] }>;
  'presence:unwatch': Call<{ uids: string[] }, { presences?: Presence[] }>;
  'session:heartbeat': Call<Nothing, { serverTime: string }>;
  'session:renew': Call<{ token: string }, { expiresAt: string }>;
}
export type ClientCall = keyof ClientCalls;
export type PayloadOf<C extends ClientCall> = ClientCalls[C]['payload'];
export type OkOf<C extends ClientCall> = ClientCalls[C]['ok'];

// ---- events of the server -------------------------------------------------------------------------------------

export interface SessionReady {
  uid: string;
  sessionId: string;
  nodeId: string;
  serverTime: string;
  /** how many topics were joined */
  topics: number;
}
export interface MessagesFrame {
  topic: string;
  messages: Message[];
  /** numbers that will never be a message */
  voids: number[];
  /** never moves a cursor here */
  stableSeq: number;
  /** absent when nothing is quoted, or not everybody may read it */
  quotes?: Quote[];
}
export interface TopicCursor {
  topic: string;
  uid: string;
  readSeq?: number;
  receivedSeq?: number;
}
export type GroupChangeKind =
  | 'joined'
  | 'left'
  | 'kicked'
  | 'muted'
  | 'unmuted'
  | 'role'
  | 'profile'
  | 'settings'
  | 'announcement'
  | 'transferred'
  | 'dismissed';
export interface GroupChanged {
  topic: string;
  kind: GroupChangeKind;
  actor: string;
  targets?: string[];
  patch?: JsonObject;
}
export type ClosingReason = 'token_expired' | 'revoked' | 'slow_consumer' | 'draining' | 'tenant_disabled';
export interface SessionClosing {
  reason: ClosingReason;
  reconnectAfterMs: number;
}

/** Every server event with its payload. */
export interface ServerEvents {
  'session:ready': SessionReady;
  'session:closing': SessionClosing;
  messages: MessagesFrame;
  'message:hidden': { topic: string; seqs: number[] };
  'message:changed': MessageChange;
  'topic:cursor': TopicCursor;
  'topic:typing': { topic: string; uid: string };
  'topic:resync': { topics?: string[] };
  'group:changed': GroupChanged;
  'presence:changed': { uid: string; state: PresenceState; lastSeenAt?: string | null };
}
export type ServerEvent = keyof ServerEvents;

export interface HandshakeAuth {
  token: string;
  deviceId?: string;
  device?: DeviceKind;
  subscribe?: 'all' | 'manual';
}
