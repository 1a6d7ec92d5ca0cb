import { randomUUID } from 'node:crypto';

export const PROBE_EVERY_MS = 5_000;
/** Probes in a row that were published and not heard. */
const MISSES_ALLOWED = 1;

/**
 * Speaks to its own subscriber through Redis. A connection whose packets vanish without a close looks healthy to both ends
 * (keep-alive is answered by whatever stands between), and the node would hear nothing of the others for ever.
 */
export class DeafnessProbe {
  private expected: string | null = null;
  private missed = 0;
  private timer?: NodeJS.Timeout;

  /**
   * @param publish sends a token by the way that everybody else's messages take; a failure says nothing about hearing
   * @param reconnect makes the subscriber open a new connection
   */
  constructor(
    private readonly publish: (token: string) => Promise<unknown>,
    private readonly reconnect: () => void,
  ) {}

  /** Does the subscriber hear, as far as is known? */
  get hears(): boolean {
    return this.missed <= MISSES_ALLOWED;
  }

  start(): void {
    this.timer = setInterval(() => void this.probe(), PROBE_EVERY_MS).unref();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  /** Called with every token that the subscriber hears. */
  heard(token: string): void {
    if (token !== this.expected) return;
    this.expected = null;
    this.missed = 0;
  }

  private async probe(): Promise<void> {
    if (this.expected !== null) {
      this.missed += 1;
      if (!this.hears) this.reconnect();
    }
    const token = randomUUID();
    this.expected = token;
    try {
      await this.publish(token);
    } catch {
      if (this.expected === token) this.expected = null;
    }
  }
}
