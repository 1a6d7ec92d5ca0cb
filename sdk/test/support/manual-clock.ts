import { defaultRuntime, type Runtime } from '../../src/runtime.js';

/** A clock that moves when told; between two timers everything that was promised gets its turn. */
export class ManualClock {
  private nowMs = 0;
  private readonly timers = new Set<{ at: number; run: () => void }>();

  readonly runtime: Runtime = {
    ...defaultRuntime,
    now: () => this.nowMs,
    after: (delayMs, run) => {
      const timer = { at: this.nowMs + delayMs, run };
      this.timers.add(timer);
      return () => void this.timers.delete(timer);
    },
    // no jitter
    random: () => 0,
  };

  async advance(ms: number): Promise<void> {
    const end = this.nowMs + ms;
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      const due = [...this.timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (!due) break;
      this.nowMs = due.at;
      this.timers.delete(due);
      due.run();
    }
    this.nowMs = end;
  }
}
