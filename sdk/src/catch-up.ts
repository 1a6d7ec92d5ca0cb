import type { Context } from './context.js';
import type { TridentError } from './errors.js';
import type { Limiter } from './limiter.js';
import { createWorker } from './worker.js';

const GAP_WAIT_MS = 300;
const RETRY_MIN_MS = 1000;
const RETRY_MAX_MS = 30_000;

export interface CatchUpWork {
  /** something is known to exist that has not been read */
  isBehind(): boolean;
  /** grows with every advance */
  progress(): number;
  /** one pull, as many pages as it takes */
  pull(): Promise<void>;
  onError(error: TridentError): void;
}

/**
 * When to pull: 300 ms after a gap was noticed, at once when told, and again after 1 s doubling to 30 s while it stays
 * behind. One pull at a time. An error moves nothing, it only waits.
 */
export const createCatchUp = (
  context: Context,
  limiter: Limiter,
  { isBehind, progress, pull, onError }: CatchUpWork,
) => {
  let seen = -1;
  let asked = 0;
  let answered = 0;
  const worker = createWorker(context, {
    minMs: RETRY_MIN_MS,
    maxMs: RETRY_MAX_MS,
    limiter,
    async step() {
      if (asked === answered && !isBehind()) return 'idle';
      const before = progress();
      const ask = asked;
      await pull();
      answered = ask;
      seen = progress();
      if (seen > before) worker.reset();
      return isBehind() ? 'later' : 'idle';
    },
    onError(error) {
      answered = asked;
      onError(error);
    },
  });
  return {
    dispose: worker.dispose,
    /** Something came in: looks whether there is a gap to wait for. */
    noticed(): void {
      // a long pause belongs to the gap it was made for, not to a new one
      if (progress() > seen && asked === answered) {
        seen = progress();
        worker.calm();
      }
      if (isBehind()) worker.kick(GAP_WAIT_MS);
    },
    now(): void {
      asked += 1;
      worker.now();
    },
  };
};
