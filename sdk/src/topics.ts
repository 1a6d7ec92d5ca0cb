import type { Context } from './context.js';
import type { WireEvent } from './events.js';
import { createHeadChecker } from './head-checker.js';
import { createLimiter } from './limiter.js';
import type { StoredTopic } from './storage.js';
import { createTopic, type Topic, type TopicPort } from './topic.js';
import { TopicState, type Outcome } from './topic-state.js';
import { createTopicSync, type TopicSync } from './topic-sync.js';
import type { Message, SendOk, SendPayload, TopicHead } from './wire.js';

/** newest messages kept of a topic that nobody asked for */
const UNASKED_WINDOW = 50;
const PULLS_AT_A_TIME = 4;
/** a topic that was just asked for does not wait like one of many after a reconnect */
const OPEN_JITTER_MS = 20;

export interface TopicsOptions {
  manual: boolean;
  windowSize: number;
  headJitterMs: number;
}

export type TopicsHooks = Pick<TopicPort, 'send' | 'pending' | 'mark' | 'readSeq'> & {
  onHead(head: TopicHead): void;
  /** a cursor may have moved */
  onMoved(): void;
};

interface Followed {
  state: TopicState;
  sync: TopicSync;
  /** made when the app asks for it */
  handle?: Topic;
}

const asMessage = (uid: string, payload: SendPayload, { seq, messageId, createdAt }: SendOk): Message => {
  const { head = null, mentionedUserIds = [], mentionAll = false, replySeq = null, rootSeq = null } = payload;
  const filled = { head, mentionedUserIds, mentionAll, replySeq, rootSeq, createdAt, updatedAt: createdAt };
  return { ...payload, ...filled, id: messageId, seq, from: uid, status: 'normal', version: 1 };
};

/** All followed topics: takes the server's frames, keeps each topic in step and tells what happened. */
export const createTopics = (context: Context, options: TopicsOptions, hooks: TopicsHooks) => {
  const { runtime, request, emit } = context;
  const followed = new Map<string, Followed>();
  const limiter = createLimiter(PULLS_AT_A_TIME);
  const heads = createHeadChecker(context, (head) => {
    hooks.onHead(head);
    followed.get(head.topic)?.sync.onHead(head);
    hooks.onMoved();
  });

  const tell = ({ topic }: TopicState, outcome: Outcome): void => {
    for (const message of outcome.shown) emit('message', { topic, message });
    for (const message of outcome.passed) emit('ordered', { topic, message });
    for (const change of outcome.changed) emit('message:changed', { topic, ...change });
    if (outcome.hidden.length > 0) emit('message:hidden', { topic, seqs: outcome.hidden });
    hooks.onMoved();
  };

  const follow = (topic: string): Followed => {
    const known = followed.get(topic);
    if (known) return known;
    const state = new TopicState(topic, Math.min(UNASKED_WINDOW, options.windowSize));
    const sync = createTopicSync(context, limiter, state, {
      apply: (outcome) => tell(state, outcome),
      askHead: () => heads.ask([topic], OPEN_JITTER_MS),
    });
    const entry = { state, sync };
    followed.set(topic, entry);
    return entry;
  };

  const realtime = (topic: string, apply: (state: TopicState) => Outcome): void => {
    // a late frame of a topic that was given up is not the wish to follow it again
    if (options.manual && !followed.has(topic)) return;
    const { state, sync } = follow(topic);
    tell(state, apply(state));
    sync.noticed();
  };

  const port: TopicPort = {
    ...hooks,
    request,
    tell,
    now: runtime.now,
    sync: (topic) => heads.ask([topic], 0),
    close(topic) {
      followed.get(topic)?.sync.dispose();
      followed.delete(topic);
      if (options.manual) request('topic:unsubscribe', { topics: [topic] }).catch(() => undefined);
    },
  };

  return {
    names: () => [...followed.keys()],

    open(name: string): Topic {
      const entry = follow(name);
      if (!entry.handle) {
        entry.handle = createTopic(entry.state, port);
        entry.state.windowLimit = options.windowSize;
        heads.ask([name], OPEN_JITTER_MS);
      }
      return entry.handle;
    },

    stored: (): StoredTopic[] =>
      [...followed.values()].flatMap(({ state: { topic, cursor, changes } }) =>
        cursor === null ? [] : [{ topic, cursor, changeCursor: changes.cursor() }],
      ),

    restore(topics: readonly StoredTopic[]): void {
      for (const stored of topics) follow(stored.topic).state.restore(stored);
    },

    /** Takes an event about messages; false when the client has to tell it itself. */
    onWire({ event, payload }: WireEvent): boolean {
      if (event === 'messages') realtime(payload.topic, (state) => state.applyFrame(payload));
      else if (event === 'message:changed') realtime(payload.topic, (state) => state.applyChange(payload));
      else if (event === 'message:hidden') realtime(payload.topic, (state) => state.applyHidden(payload.seqs));
      else {
        if (event === 'session:ready') heads.ask(followed.keys(), options.headJitterMs);
        if (event === 'topic:resync') {
          const named = payload.topics?.filter((topic) => followed.has(topic));
          heads.ask(named ?? followed.keys(), options.headJitterMs);
        }
        return false;
      }
      return true;
    },

    /** An own send was acknowledged: its ack makes it known like a frame would. */
    onStored(uid: string, payload: SendPayload, ok: SendOk): void {
      realtime(payload.topic, (state) =>
        // an earlier try stored it, and it may have been changed since: the server's copy is asked for
        ok.duplicate ? state.noteStored(ok.seq) : state.applyOwnSend(asMessage(uid, payload, ok)),
      );
    },
  };
};
