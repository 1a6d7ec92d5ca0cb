import type { Context } from './context.js';
import { isTokenError, TridentError } from './errors.js';
import type { Limiter } from './limiter.js';
import type { ContentByType, MessageHead, SendableType, SendOk, SendPayload } from './wire.js';
import { createWorker, type Next, type Worker } from './worker.js';

/** What to send. `clientMsgId` is made up when absent; give one to make an own retry safe. */
export type Draft = {
  [T in SendableType]: {
    type: T;
    content: ContentByType[T];
    clientMsgId?: string;
    head?: MessageHead;
    mentionedUserIds?: string[];
    mentionAll?: boolean;
    replySeq?: number;
    rootSeq?: number;
  };
}[SendableType];

export type SendState = 'pending' | 'sent' | 'failed';

/** How a send ended. A failed one was refused, or its fate is told by `error`. */
export type SendOutcome = ({ state: 'sent' } & SendOk) | { state: 'failed'; error: TridentError };

/** One message on its way; it changes its state in place and `outcome` resolves once, it never rejects. */
export interface SendHandle {
  readonly payload: SendPayload;
  readonly topic: string;
  readonly clientMsgId: string;
  readonly state: SendState;
  /** tries that were made so far */
  readonly attempts: number;
  /** the reason of the last refusal, also while it is retried */
  readonly error: TridentError | undefined;
  readonly result: SendOk | undefined;
  readonly outcome: Promise<SendOutcome>;
  /** Takes it out of the queue; false when it was tried already, for then it may be stored. */
  cancel(): boolean;
}

export interface OutboxHooks {
  maxSize: number;
  /** stored; called before the handle says so */
  onStored(payload: SendPayload, ok: SendOk): void;
  /** the queue has changed */
  onQueue(): void;
}

type Entry = { -readonly [K in keyof SendHandle]: SendHandle[K] } & { settle(outcome: SendOutcome): void };

const createEntry = (payload: SendPayload, cancel: (entry: Entry) => boolean): Entry => {
  let settle: Entry['settle'] = () => undefined;
  const outcome = new Promise<SendOutcome>((resolve) => (settle = resolve));
  const { topic, clientMsgId } = payload;
  const entry: Entry = {
    payload,
    topic,
    clientMsgId,
    state: 'pending',
    attempts: 0,
    error: undefined,
    result: undefined,
    outcome,
    settle,
    cancel: () => cancel(entry),
  };
  return entry;
};

interface Lane {
  entries: Entry[];
  worker: Worker;
}

/**
 * The send queue. One message of a topic is on its way at a time, so the order of submission is the order of the
 * numbers, over every retry and reconnect; topics do not wait for each other.
 */
export const createOutbox = (context: Context, limiter: Limiter, hooks: OutboxHooks) => {
  const { runtime, request, emit, report } = context;
  const lanes = new Map<string, Lane>();
  let size = 0;

  const fail = (entry: Entry, error: TridentError): void => {
    entry.state = 'failed';
    entry.error = error;
    emit('send', entry);
    entry.settle({ state: 'failed', error });
  };

  const remove = (entry: Entry): void => {
    const lane = lanes.get(entry.topic);
    const at = lane?.entries.indexOf(entry) ?? -1;
    if (!lane || at < 0) return;
    lane.entries.splice(at, 1);
    size -= 1;
    if (lane.entries.length === 0) {
      lanes.delete(entry.topic);
      lane.worker.dispose();
    }
    hooks.onQueue();
  };

  const cancel = (entry: Entry): boolean => {
    if (entry.state !== 'pending' || entry.attempts > 0) return false;
    remove(entry);
    fail(entry, new TridentError('CANCELLED', 'taken out of the queue', false));
    return true;
  };

  const sent = (entry: Entry, { seq, messageId, createdAt, duplicate }: SendOk): void => {
    const ok = { seq, messageId, createdAt, duplicate };
    remove(entry);
    entry.result = ok;
    entry.error = undefined;
    entry.state = 'sent';
    hooks.onStored(entry.payload, ok);
    emit('send', entry);
    entry.settle({ state: 'sent', ...ok });
  };

  const trySend = async (entry: Entry): Promise<void> => {
    entry.attempts += 1;
    const answer = await request('message:send', entry.payload).catch(TridentError.from);
    // the queue may have been closed meanwhile
    if (entry.state !== 'pending') return;
    if (!(answer instanceof TridentError)) return sent(entry, answer);
    if (answer.retryable || isTokenError(answer)) {
      entry.error = answer;
      emit('send', entry);
      // an ended token is renewed by the connection; the message is as good as before
      throw answer.retryable ? answer : new TridentError(answer.code, answer.message, true);
    }
    remove(entry);
    fail(entry, answer);
  };

  const laneOf = (topic: string): Lane => {
    const known = lanes.get(topic);
    if (known) return known;
    const entries: Entry[] = [];
    const step = async (): Promise<Next> => {
      if (entries.length === 0) return 'idle';
      await trySend(entries[0]);
      return 'more';
    };
    const worker = createWorker(context, { minMs: 250, maxMs: 10_000, limiter, step, onError: report });
    lanes.set(topic, { entries, worker });
    return { entries, worker };
  };

  const pending = (topic?: string): SendHandle[] =>
    (topic === undefined ? [...lanes.values()] : [lanes.get(topic)]).flatMap((lane) => lane?.entries ?? []);

  const add = (payload: SendPayload, first: boolean): SendHandle => {
    const queued = pending(payload.topic).find((handle) => handle.clientMsgId === payload.clientMsgId);
    if (queued) return queued;
    const entry = createEntry(payload, cancel);
    if (size >= hooks.maxSize) {
      fail(entry, new TridentError('QUEUE_FULL', `${hooks.maxSize} messages are waiting already`, true));
      return entry;
    }
    const { entries, worker } = laneOf(payload.topic);
    if (first) entries.unshift(entry);
    else entries.push(entry);
    size += 1;
    // a stored one may have been tried by the earlier run
    if (first) entry.attempts = 1;
    emit('send', entry);
    hooks.onQueue();
    worker.kick();
    return entry;
  };

  return {
    /** Queues a message. The same client id again while it is queued is the same send. */
    send(topic: string, draft: Draft): SendHandle {
      const payload: SendPayload = { ...draft, topic, clientMsgId: draft.clientMsgId ?? runtime.newId() };
      // a copy: the caller may go on using his object, a retry must send the same bytes
      return add(structuredClone(payload), false);
    },
    /** Messages of an earlier run, before everything queued since. */
    restore(payloads: readonly SendPayload[]): void {
      for (const payload of [...payloads].reverse()) add(payload, true);
    },
    pending,
    /** Ends all waiting sends with an error. */
    close(): void {
      const closed = new TridentError('CLOSED', 'closed before this was acknowledged', true);
      const left = [...lanes.values()].flatMap(({ entries }) => entries.splice(0));
      lanes.clear();
      size = 0;
      for (const entry of left) fail(entry, closed);
    },
  };
};
