/** Cancels a timer; harmless when it already fired. */
export type Cancel = () => void;

/** What the client needs from its surroundings; tests replace it to be fast and repeatable. */
export interface Runtime {
  /** milliseconds, used for waiting only, never for the order of messages */
  now(): number;
  after(delayMs: number, run: () => void): Cancel;
  /** 0 <= x < 1 */
  random(): number;
  /** a new client message id */
  newId(): string;
  fetch: typeof fetch;
}

/** setTimeout fires at once above this number of milliseconds */
const MAX_TIMER_MS = 2_147_483_647;

const randomHex = (bytes: number): string =>
  Array.from(globalThis.crypto.getRandomValues(new Uint8Array(bytes)), (b) => b.toString(16).padStart(2, '0')).join('');

export const defaultRuntime: Runtime = {
  now: () => Date.now(),
  after: (delayMs, run) => {
    const timer = setTimeout(run, Math.min(delayMs, MAX_TIMER_MS));
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
  newId: () => randomHex(16),
  fetch: (input, init) => globalThis.fetch(input, init),
};

export const sleep = (runtime: Runtime, delayMs: number): Promise<void> =>
  new Promise((resolve) => void runtime.after(delayMs, resolve));
