const PING_EVERY_MS = 100;

/**
 * Knows when Redis is silent: a command got no answer within its time, and nothing else was answered meanwhile. Whoever
 * asks then would wait as long, and one request often asks several times; so nobody but a ping asks until it is answered.
 */
export class Silence {
  private answeredAtMs = performance.now();
  private timer?: NodeJS.Timeout;
  private stopped = false;

  /** @param ping rejects when it is not answered in time */
  constructor(
    private readonly ping: () => Promise<unknown>,
    private readonly changed: (isSilent: boolean) => void,
  ) {}

  get is(): boolean {
    return this.timer !== undefined;
  }

  /** An answer came, be it an error. */
  answered(): void {
    this.answeredAtMs = performance.now();
  }

  /** A command that was sent then was given up. */
  async gaveUp(sentAtMs: number): Promise<void> {
    // A process that was stopped itself finds its timers due before it reads what was answered.
    await new Promise((resolve) => setImmediate(resolve));
    if (this.answeredAtMs > sentAtMs || this.is || this.stopped) return;
    this.changed(true);
    this.pingAgain();
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  private pingAgain(): void {
    this.timer = setTimeout(() => {
      this.ping().then(
        () => {
          this.timer = undefined;
          this.answered();
          this.changed(false);
        },
        () => this.stopped || this.pingAgain(),
      );
    }, PING_EVERY_MS).unref();
  }
}
