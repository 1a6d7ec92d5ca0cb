import type { Cancel, Runtime } from './runtime.js';
import type { SendPayload } from './wire.js';

export interface StoredTopic {
  topic: string;
  cursor: number;
  changeCursor: number | null;
}

/** What survives a restart of the app: where each topic stands, and what was not acknowledged yet. Plain JSON. */
export interface StoredState {
  version: 1;
  topics: StoredTopic[];
  outbox: SendPayload[];
}

/**
 * Where an app may keep the state. `account` names tenant and user. An app that stores cursors must store the messages
 * too, before: what is at or below a stored cursor is not delivered again.
 */
export interface StoragePort {
  load(account: string): Promise<StoredState | undefined>;
  save(account: string, state: StoredState): Promise<void>;
}

const SAVE_DELAY_MS = 200;

/** Saves soon after a change, one save at a time, always the newest state. */
export const createSaver = (runtime: Runtime, save: () => Promise<void>, onError: (error: unknown) => void) => {
  let timer: Cancel | undefined;
  let saving = Promise.resolve();
  /** Resolves when the state of this moment is saved (or its failure was told). */
  const flush = (): Promise<void> => {
    timer?.();
    timer = undefined;
    saving = saving.then(save).catch(onError);
    return saving;
  };
  return {
    flush,
    touch(): void {
      timer ??= runtime.after(SAVE_DELAY_MS, () => void flush());
    },
  };
};
