import type { Runtime } from './runtime.js';

/** Delays that double from `minMs` to `maxMs`; each is stretched by up to the same again, so that clients do not march in step. */
export const createBackoff = (runtime: Runtime, minMs: number, maxMs: number) => {
  let currentMs = minMs;
  return {
    /** The next delay in milliseconds, never below what the server asked for. */
    next(retryAfterMs = 0): number {
      const delayMs = Math.min(currentMs * (1 + runtime.random()), maxMs);
      currentMs = Math.min(currentMs * 2, maxMs);
      return Math.max(delayMs, retryAfterMs * (1 + runtime.random() / 5));
    },
    reset(): void {
      currentMs = minMs;
    },
  };
};
