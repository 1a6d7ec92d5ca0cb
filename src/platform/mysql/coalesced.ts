interface Slot<T> {
  running: Promise<T>;
  waiting: Promise<T> | null;
}

/**
 * Equal reads share one query: at most one of a key runs and one waits. A caller joins only the one that waits, so what he
 * gets was read after he asked: no change that he knows of can be missing from it. Failures are shared by those who joined
 * and kept for nobody.
 */
export class Coalesced<T> {
  private readonly slots = new Map<string, Slot<T>>();

  run(key: string, load: () => Promise<T>): Promise<T> {
    const slot = this.slots.get(key);
    if (!slot) {
      const first: Slot<T> = { running: load(), waiting: null };
      this.slots.set(key, first);
      this.follow(key, first);
      return first.running;
    }
    slot.waiting ??= slot.running.then(load, load);
    return slot.waiting;
  }

  /** When the running read has ended, the waiting one runs. */
  private follow(key: string, slot: Slot<T>): void {
    const next = (): void => {
      if (!slot.waiting) {
        this.slots.delete(key);
        return;
      }
      slot.running = slot.waiting;
      slot.waiting = null;
      this.follow(key, slot);
    };
    slot.running.then(next, next);
  }
}
