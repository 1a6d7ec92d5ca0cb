import { createBackoff } from './backoff.js';
import type { Context } from './context.js';
import { TridentError } from './errors.js';
import type { Limiter } from './limiter.js';
import type { Cancel } from './runtime.js';

/** What comes after a step: nothing, the next step at once, or the next one after a growing pause. */
export type Next = 'idle' | 'more' | 'later';

export interface Worker {
  /** Runs after a delay in milliseconds, unless a run or a pause is on that will see the new work. */
  kick(delayMs?: number): void;
  /** Runs at once; once more when it is running. */
  now(): void;
  /** Ends a pause, and the next one is the shortest. */
  calm(): void;
  /** The next pause is the shortest one. */
  reset(): void;
  /** Not needed any more. */
  dispose(): void;
}

export interface WorkerOptions {
  minMs: number;
  maxMs: number;
  limiter?: Limiter;
  /** One step. A retryable error is tried again after a pause. */
  step(): Promise<Next>;
  /** The step was refused for good; the worker rests until the next kick. */
  onError(error: TridentError): void;
}

const URGENT = -1;

/** Repeats a step while there is work and a session: one at a time, with back-off after errors. */
export const createWorker = ({ runtime, link }: Pick<Context, 'runtime' | 'link'>, options: WorkerOptions): Worker => {
  const { minMs, maxMs, limiter = (task) => task(), step, onError } = options;
  const { next: nextPause, reset } = createBackoff(runtime, minMs, maxMs);
  let running = false;
  let disposed = false;
  let timer: Cancel | undefined;
  /** asked for while running: a delay, or URGENT */
  let wish: number | undefined;

  const isLive = (): boolean => link.isOnline() && !disposed;
  const stopTimer = (): void => {
    timer?.();
    timer = undefined;
  };
  const schedule = (delayMs: number): void => {
    timer = runtime.after(delayMs, () => {
      timer = undefined;
      void run();
    });
  };
  const run = async (): Promise<void> => {
    running = true;
    wish = undefined;
    let next: Next = 'idle';
    let retryAfterMs: number | undefined;
    try {
      next = await limiter(async () => (isLive() ? step() : 'idle'));
      if (next !== 'later') reset();
    } catch (thrown) {
      const error = TridentError.from(thrown);
      if (error.retryable) next = 'later';
      else onError(error);
      retryAfterMs = error.retryAfterMs;
    }
    running = false;
    if (!isLive()) return;
    if (next === 'more' || wish === URGENT) void run();
    else if (next === 'later') schedule(nextPause(retryAfterMs));
    else if (wish !== undefined) schedule(wish);
  };
  const kick = (delayMs = 0): void => {
    if (!isLive() || timer) return;
    if (running) wish ??= delayMs;
    else if (delayMs > 0) schedule(delayMs);
    else void run();
  };
  const calm = (): void => {
    stopTimer();
    reset();
  };

  const leave = link.join({
    wakeUp() {
      reset();
      kick();
    },
    rest: stopTimer,
  });
  return {
    kick,
    now() {
      stopTimer();
      if (running) wish = URGENT;
      else if (isLive()) void run();
    },
    calm,
    reset,
    dispose() {
      disposed = true;
      leave();
    },
  };
};
