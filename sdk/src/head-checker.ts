import type { Context } from './context.js';
import { TridentError } from './errors.js';
import type { TopicHead } from './wire.js';
import { createWorker, type Next } from './worker.js';

const BATCH = 200;

/** Asks the heads of topics by `topic:subscribe`, jittered, in batches; what was refused for a moment is asked again. */
export const createHeadChecker = (context: Context, onHead: (head: TopicHead) => void) => {
  const { runtime, request, report } = context;
  const waiting = new Set<string>();
  let batch = BATCH;

  /** One bad name refuses its whole batch: smaller batches until it stands alone. */
  const refused = (topics: string[], error: TridentError): Next => {
    if (error.retryable || topics.length > 1) for (const topic of topics) waiting.add(topic);
    else report(error, topics[0]);
    if (error.retryable) throw error;
    batch = Math.ceil(topics.length / 2);
    return 'more';
  };

  const worker = createWorker(context, {
    minMs: 1000,
    maxMs: 30_000,
    async step() {
      const topics = [...waiting].slice(0, batch);
      if (topics.length === 0) return 'idle';
      for (const topic of topics) waiting.delete(topic);
      const answer = await request('topic:subscribe', { topics }).catch(TridentError.from);
      if (answer instanceof TridentError) return refused(topics, answer);
      batch = BATCH;
      let again: TridentError | undefined;
      for (const head of answer.topics) {
        const error = head.error && TridentError.fromWire(head.error);
        if (!head.error) onHead(head);
        else if (error?.retryable) {
          waiting.add(head.topic);
          again = error;
        } else report(error, head.topic);
      }
      if (again) throw again;
      return 'more';
    },
    onError: report,
  });

  return {
    /** Asks within `jitterMs` milliseconds, or after the next reconnect. */
    ask(topics: Iterable<string>, jitterMs: number): void {
      for (const topic of topics) waiting.add(topic);
      worker.kick(runtime.random() * jitterMs);
    },
  };
};
