import type { Request } from './context.js';
import { TridentError } from './errors.js';
import type { MarkKind } from './marks.js';
import type { Draft, SendHandle } from './outbox.js';
import type { Outcome, TopicState } from './topic-state.js';
import type { HistoryPage, Message, MessageContent, MessageStatus, Quote, TopicHead } from './wire.js';

/** One conversation. Get it by `client.topic(name)`; the same name gives the same object. */
export interface Topic {
  /** e.g. `grp_1001`, `p2p_7_12` */
  readonly name: string;
  /** Every message at or below it is known; null until the first page has arrived. */
  readonly cursor: number | null;
  /** All changes up to this number are known; null where the server has no change numbers. */
  readonly changeCursor: number | null;
  /** The last answer of `topic:subscribe`: role, online members, hints. */
  readonly head: TopicHead | undefined;
  /** Everything up to it was read by this user, on any device. */
  readonly readSeq: number;
  /** The newest messages by seq, ascending (own pending ones are in `pending()`); a copy. */
  messages(): Message[];
  /** What the message `seq`, which others quote, looks like now; undefined when this user may not read it. */
  quote(seq: number): Quote | undefined;
  /** Own messages that are not acknowledged yet, in their order. */
  pending(): SendHandle[];
  /** Queues a message; it is sent now or when the connection is back. Watch the handle or the `send` event. */
  send(draft: Draft): SendHandle;
  sendText(text: string): SendHandle;
  /** Changes an own message. `version` is the one that was edited, by default the one that is known here. */
  edit(seq: number, content: MessageContent, version?: number): Promise<void>;
  /** Takes an own message back (admins: any message). */
  recall(seq: number): Promise<void>;
  /** Removes a message for everyone; for admins of the group. */
  remove(seq: number): Promise<void>;
  /** Hides messages on this user's devices only. */
  deleteForMe(seqs: readonly number[]): Promise<void>;
  /** Everything up to `seq` is read, by default all that is known. Kept until the server has it. */
  markRead(seq?: number): void;
  /** Everything up to `seq` has reached this device. */
  markReceived(seq?: number): void;
  /** Tells the others that the user is typing; at most once in 3 s, lost without harm. */
  typing(): void;
  /** The page before the oldest one loaded. A full window keeps its newest messages, so use what is returned. */
  loadOlder(limit?: number): Promise<{ messages: Message[]; hasMore: boolean }>;
  /** Any page as the server has it; nothing here changes. */
  history(range?: { afterSeq?: number; beforeSeq?: number; limit?: number }): Promise<HistoryPage>;
  /** Asks the head now and pulls when behind; the client does this by itself whenever it is due. */
  sync(): void;
  /** Stops following: the window is dropped; with `subscribe: 'manual'` the server sends no more frames. */
  close(): void;
}

/** What a Topic needs from its client. */
export interface TopicPort {
  request: Request;
  now(): number;
  send(topic: string, draft: Draft): SendHandle;
  pending(topic: string): SendHandle[];
  mark(kind: MarkKind, topic: string, seq: number): void;
  readSeq(topic: string): number;
  sync(topic: string): void;
  close(topic: string): void;
  tell(state: TopicState, outcome: Outcome): void;
}

const TYPING_PAUSE_MS = 3000;
const DELETE_BATCH = 100;

/** Edit, recall and removal: asked of the server, then applied here without waiting for the frame. */
const createChanges = (state: TopicState, { request, tell, now }: TopicPort, history: Topic['history']) => {
  const { topic } = state;
  const apply = (
    seq: number,
    status: MessageStatus,
    version: number,
    content: MessageContent | null = null,
    updatedAt = new Date(now()).toISOString(),
  ): void => tell(state, state.applyChange({ topic, seq, version, status, content, updatedAt }));

  const versionOf = async (seq: number): Promise<number> => {
    const here = state.get(seq);
    if (here && !state.isProvisional(seq)) return here.version;
    const [stored] = (await history({ afterSeq: seq - 1, limit: 1 })).messages;
    if (stored?.seq !== seq) throw new TridentError('NOT_FOUND', `no message ${seq}`, false);
    return stored.version;
  };

  return {
    async edit(seq: number, content: MessageContent, version?: number): Promise<void> {
      const edited = version ?? (await versionOf(seq));
      const ok = await request('message:edit', { topic, seq, content, version: edited });
      apply(seq, 'normal', ok.version, content, ok.updatedAt);
    },
    async recall(seq: number): Promise<void> {
      apply(seq, 'recalled', (await request('message:recall', { topic, seq })).version);
    },
    async remove(seq: number): Promise<void> {
      apply(seq, 'deleted', (await request('message:remove', { topic, seq })).version);
    },
    async deleteForMe(seqs: readonly number[]): Promise<void> {
      for (let i = 0; i < seqs.length; i += DELETE_BATCH) {
        const some = seqs.slice(i, i + DELETE_BATCH);
        await request('message:delete', { topic, seqs: some });
        tell(state, state.applyHidden(some));
      }
    },
  };
};

export const createTopic = (state: TopicState, port: TopicPort): Topic => {
  const { topic } = state;
  const { request, mark } = port;
  const cursor = (): number => state.cursor ?? 0;
  const send = (draft: Draft): SendHandle => port.send(topic, draft);
  const history: Topic['history'] = (range) => request('message:history', { topic, ...range });
  let typedAt = -Infinity;
  return {
    name: topic,
    get cursor() {
      return state.cursor;
    },
    get changeCursor() {
      return state.changes.cursor();
    },
    get head() {
      return state.head;
    },
    get readSeq() {
      return port.readSeq(topic);
    },
    messages: () => state.messages(),
    quote: (seq) => state.quotes.get(seq),
    pending: () => port.pending(topic),
    send,
    sendText: (text) => send({ type: 'text', content: { text } }),
    ...createChanges(state, port, history),
    markRead: (seq = cursor()) => mark('read', topic, seq),
    markReceived: (seq = cursor()) => mark('received', topic, seq),
    typing() {
      if (port.now() - typedAt < TYPING_PAUSE_MS) return;
      typedAt = port.now();
      request('topic:typing', { topic }).catch(() => undefined);
    },
    async loadOlder(limit = 50) {
      const { outcome, messages } = state.applyOlder(await history({ beforeSeq: state.olderBefore, limit }));
      port.tell(state, outcome);
      return { messages, hasMore: state.hasOlder };
    },
    history,
    sync: () => port.sync(topic),
    close: () => port.close(topic),
  };
};
