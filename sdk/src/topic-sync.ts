import { createCatchUp } from './catch-up.js';
import type { Context } from './context.js';
import type { Limiter } from './limiter.js';
import type { Outcome, TopicState } from './topic-state.js';
import type { TopicHead } from './wire.js';

const PAGE_LIMIT = 200;
const FIRST_PAGE_LIMIT = 50;
/** pages above a cursor that does not move (the server waits for a number in flight) before the next pause */
const MAX_STALLED_PAGES = 20;

export interface SyncHooks {
  apply(outcome: Outcome): void;
  askHead(): void;
}

const createMessagePull = ({ request, emit }: Context, state: TopicState, apply: SyncHooks['apply']) => {
  const { topic } = state;
  const pull = async (start: number): Promise<void> => {
    let from = start;
    for (let stalled = 0; stalled < MAX_STALLED_PAGES;) {
      const before = state.cursor ?? 0;
      const page = await request('message:history', { topic, afterSeq: from, limit: PAGE_LIMIT });
      apply(state.applyPage(from, page));
      if (!page.hasMore || page.nextAfterSeq <= from) return;
      const cursor = state.cursor ?? 0;
      stalled = cursor > before ? 0 : stalled + 1;
      from = Math.max(page.nextAfterSeq, cursor);
    }
  };
  return async (): Promise<void> => {
    if (state.cursor !== null) await pull(state.cursor);
    else apply(state.applyPage(undefined, await request('message:history', { topic, limit: FIRST_PAGE_LIMIT })));
    if (state.cursor !== null && !state.behind) emit('topic:synced', { topic, cursor: state.cursor });
  };
};

const createChangePull = ({ request }: Context, state: TopicState, apply: SyncHooks['apply']) => {
  const { topic, changes } = state;
  return async (): Promise<void> => {
    for (;;) {
      const afterChange = changes.cursor();
      if (afterChange === null) return;
      const page = await request('topic:changes', { topic, afterChange, limit: PAGE_LIMIT });
      apply(state.applyChangesPage(afterChange, page));
      if (!page.hasMore || page.nextAfterChange <= afterChange) return;
    }
  };
};

/** Keeps one TopicState in step with the server: decides what is asked and when. */
export const createTopicSync = (context: Context, limiter: Limiter, state: TopicState, hooks: SyncHooks) => {
  const { report } = context;
  let changesSupported = true;
  const messages = createCatchUp(context, limiter, {
    // the head comes before the first page: a change between the two would be in neither
    isBehind: () => (state.cursor === null ? state.head !== undefined : state.behind),
    progress: () => state.cursor ?? -1,
    pull: createMessagePull(context, state, hooks.apply),
    onError: (error) => report(error, state.topic),
  });
  const changes = createCatchUp(context, limiter, {
    isBehind: () => changesSupported && state.changes.behind(),
    progress: () => state.changes.cursor() ?? -1,
    pull: createChangePull(context, state, hooks.apply),
    onError: (error) => {
      if (error.code === 'UNKNOWN_EVENT') changesSupported = false;
      else report(error, state.topic);
    },
  });
  return {
    dispose(): void {
      messages.dispose();
      changes.dispose();
    },
    /** After realtime input. */
    noticed(): void {
      if (state.cursor === null && !state.head) hooks.askHead();
      else messages.noticed();
      changes.noticed();
    },
    onHead(head: TopicHead): void {
      state.applyHead(head);
      // a head below the cursor comes from a server in doubt: its page will tell
      if (state.cursor !== head.lastSeq || state.behind) messages.now();
      else context.emit('topic:synced', { topic: state.topic, cursor: state.cursor });
      if (changesSupported && state.changes.behind()) changes.now();
    },
  };
};

export type TopicSync = ReturnType<typeof createTopicSync>;
