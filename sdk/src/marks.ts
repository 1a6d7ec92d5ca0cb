import type { Context } from './context.js';
import { createWorker, type Next, type Worker } from './worker.js';

export type MarkKind = 'read' | 'received';

interface Mark {
  wanted: number;
  known: number;
  worker: Worker;
}

/** Read and received cursors of this user. They only grow; while one call is on its way only the newest wish is kept. */
export const createMarks = (context: Context) => {
  const { request, emit, report } = context;
  const marks = new Map<string, Mark>();

  const markOf = (kind: MarkKind, topic: string): Mark => {
    const known = marks.get(kind + topic);
    if (known) return known;
    const step = async (): Promise<Next> => {
      const seq = mark.wanted;
      if (seq <= mark.known) return 'idle';
      if (kind === 'read') emit('topic:read', { topic, ...(await request('topic:read', { topic, seq })) });
      else await request('topic:received', { topic, seq });
      // the server may hold it at its newest message: asking again would not move it
      mark.known = Math.max(mark.known, seq);
      return 'more';
    };
    const onError = (error: unknown): void => {
      mark.wanted = mark.known;
      report(error, topic);
    };
    const mark = { wanted: 0, known: 0, worker: createWorker(context, { minMs: 1000, maxMs: 30_000, step, onError }) };
    marks.set(kind + topic, mark);
    return mark;
  };

  return {
    get: (kind: MarkKind, topic: string): number => marks.get(kind + topic)?.known ?? 0,
    /** What the server says, through a head or another device. */
    note(kind: MarkKind, topic: string, seq = 0): void {
      if (seq === 0) return;
      const mark = markOf(kind, topic);
      mark.known = Math.max(mark.known, seq);
    },
    /** Moves the mark; it is sent now or after the next reconnect. */
    move(kind: MarkKind, topic: string, seq: number): void {
      const mark = markOf(kind, topic);
      mark.wanted = Math.max(mark.wanted, seq);
      if (mark.wanted > mark.known) mark.worker.kick();
    },
  };
};
