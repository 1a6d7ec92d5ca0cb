import { Inject, Injectable } from '@nestjs/common';
import { ENV, type Env } from '../platform/env/env.js';
import { AppError } from '../platform/errors/app-error.js';
import { Metrics } from '../platform/observe/metrics.js';
import { Readiness } from '../platform/observe/readiness.js';

/** Nobody is told to come back sooner or later than that. */
const SOONEST_MS = 1_000;
const LATEST_MS = 30_000;
/** What a handshake takes of this node before it was measured, and at most, ms. */
const FIRST_GUESS_MS = 4;
const DEAREST_MS = 50;
const SMOOTHING = 0.05;

/**
 * How many clients this node lets in at the same time. After an outage thousands come at once: those beyond the limit are
 * turned away at no cost, each with another time to come back at, spread over what the work of all of them will take.
 */
@Injectable()
export class HandshakeGate {
  private readonly limit: number;
  private readonly refusals;
  private opening = 0;
  /** Turned away and expected back, by the second at which they were told to come. */
  private readonly owedAt = new Map<number, number>();
  private eachMs = FIRST_GUESS_MS;
  private lastDoneAtMs = 0;

  constructor(
    @Inject(ENV) env: Env,
    private readonly readiness: Readiness,
    metrics: Metrics,
  ) {
    this.limit = env.HANDSHAKES_AT_ONCE;
    this.refusals = metrics.counter('im_handshakes_refused_total', 'Handshakes turned away because too many came');
    const opening = metrics.gauge('im_handshakes_in_progress', 'Clients that are being let in');
    opening.set(0);
    Object.assign(opening, { collect: () => opening.set(this.opening) });
  }

  /**
   * Takes a place for the check of a client; the caller gives it back.
   * @throws AppError OVERLOADED with the time to come back at
   */
  enter(): () => void {
    // A node that drains turns everybody away: its clients are on their way to the others.
    if (this.opening >= this.limit || !this.readiness.accepting) {
      this.refusals.inc();
      throw new AppError('OVERLOADED', { retryAfterMs: this.comeBackAfterMs(performance.now()) });
    }
    return this.hold();
  }

  /** Takes a place for a client that was checked, until he hears his topics. */
  hold(): () => void {
    this.opening += 1;
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.opening -= 1;
      this.measure();
    };
  }

  private comeBackAfterMs(nowMs: number): number {
    const workMs = (this.owed(nowMs) + 1 + this.opening) * this.eachMs;
    const afterMs = Math.floor(Math.min(LATEST_MS, SOONEST_MS + Math.random() * Math.max(SOONEST_MS, workMs)));
    const second = Math.ceil((nowMs + afterMs) / 1000);
    this.owedAt.set(second, (this.owedAt.get(second) ?? 0) + 1);
    return afterMs;
  }

  /** Whoever should have come by now has come, and counts as whatever became of him, or stays away. */
  private owed(nowMs: number): number {
    let sum = 0;
    for (const [second, count] of this.owedAt) {
      if (second * 1000 <= nowMs) this.owedAt.delete(second);
      else sum += count;
    }
    return sum;
  }

  /** Between two that end while others wait lies what one takes. */
  private measure(): void {
    const nowMs = performance.now();
    const tookMs = nowMs - this.lastDoneAtMs;
    this.lastDoneAtMs = nowMs;
    if (this.opening > 1) this.eachMs += (Math.min(DEAREST_MS, tookMs) - this.eachMs) * SMOOTHING;
  }
}
