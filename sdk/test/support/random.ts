import { defaultRuntime, type Runtime } from '../../src/runtime.js';

/** Repeatable random numbers (mulberry32). */
export const createRandom = (seed: number): (() => number) => {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
};

/** A runtime whose time runs `speed` times as fast, so that waits of seconds pass in milliseconds. */
export const fastRuntime = (speed: number, seed: number): Runtime => {
  const random = createRandom(seed);
  let ids = 0;
  return {
    ...defaultRuntime,
    now: () => performance.now() * speed,
    after: (delayMs, run) => defaultRuntime.after(delayMs / speed, run),
    random,
    newId: () => `id-${seed}-${(ids += 1)}`,
  };
};

/** Waits until a condition holds; the message of the last failure says what was missing. */
export const until = async (what: string, condition: () => boolean, timeoutMs = 15_000): Promise<void> => {
  const end = performance.now() + timeoutMs;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`not in ${timeoutMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 3));
  }
};
