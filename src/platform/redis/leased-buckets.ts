import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { AppError } from '../errors/app-error.js';
import { errorText } from '../http/problem.filter.js';
import type { TenantId } from '../ids/ids.js';
import { Logger } from '../observe/logger.js';
import { RedisUnavailable } from './redis-scripts.js';
import { type Budget, TokenBuckets } from './token-buckets.js';

/** What a node holds of one subject's budget. */
interface Lease {
  tokens: number;
  usedAtMs: number;
  /** Until then the bucket is known to be empty. */
  refusedUntilMs: number;
  refilling: Promise<void> | null;
  /** Calls that wait for the refill that runs. */
  waiting: number;
  /** Counts while Redis does not answer: this node alone, by its own clock. */
  own: { tokens: number; atMs: number };
}

/** A part of the burst, and of what a second brings: more would let an idle node keep what another one needs. */
const PART_OF_BURST = 16;
const PART_OF_SECOND = 2;
/** Redis must not make a send slower than this; a late answer still counts for the next ones. */
const WAIT_MS = 150;
const FORGET_AFTER_MS = 60_000;
const SWEEP_MS = 10_000;

/**
 * Budgets that cost no round trip a call: a node takes a small chunk of the shared bucket at once and counts it down in
 * memory; the next chunk is fetched before the last one is used up. All nodes together never give out more than the bucket
 * did. While Redis does not answer each node goes on with a bucket of its own: a limit must not stop what needs no Redis.
 */
@Injectable()
export class LeasedBuckets implements OnApplicationShutdown {
  private readonly leases = new Map<string, Lease>();
  private readonly sweeper: NodeJS.Timeout;
  private onLocal: (what: string) => void = () => undefined;

  constructor(
    private readonly buckets: TokenBuckets,
    private readonly log: Logger,
  ) {
    this.sweeper = setInterval(() => this.sweep(), SWEEP_MS).unref();
  }

  /** Called for every chunk that was given out without Redis. */
  whenLocal(listener: (what: string) => void): void {
    this.onLocal = listener;
  }

  /**
   * Takes one token. Answers without a promise when this node has one, which is nearly always.
   * @throws AppError RATE_LIMITED (also as a rejection) with the time until there is one again
   */
  take(tenant: TenantId, what: string, subject: string, budget: Budget): void | Promise<void> {
    const now = Date.now();
    const lease = this.leaseOf(`${tenant} ${what} ${subject}`, budget, now);
    lease.usedAtMs = now;
    if (lease.tokens >= 1) {
      lease.tokens -= 1;
      if (lease.tokens < chunkOf(budget) / 2 && now >= lease.refusedUntilMs) {
        this.refill(lease, tenant, what, subject, budget);
      }
      return;
    }
    if (now < lease.refusedUntilMs) throw limited(lease.refusedUntilMs - now);
    return this.wait(lease, tenant, what, subject, budget);
  }

  onApplicationShutdown(): void {
    clearInterval(this.sweeper);
  }

  private async wait(lease: Lease, tenant: TenantId, what: string, subject: string, budget: Budget): Promise<void> {
    for (;;) {
      lease.waiting += 1;
      this.refill(lease, tenant, what, subject, budget);
      const inTime = await within(lease.refilling!, WAIT_MS);
      lease.waiting -= 1;
      if (!inTime && lease.tokens < 1) this.takeOwn(lease, what, budget);
      if (lease.tokens >= 1) {
        lease.tokens -= 1;
        return;
      }
      const leftMs = lease.refusedUntilMs - Date.now();
      if (leftMs > 0) throw limited(leftMs);
    }
  }

  /** Fetches the next chunk, once however many wait. Never rejects. */
  private refill(lease: Lease, tenant: TenantId, what: string, subject: string, budget: Budget): void {
    if (lease.refilling) return;
    const most = Math.max(chunkOf(budget), lease.waiting);
    lease.refilling = this.buckets
      .takeUpTo(tenant, what, subject, budget, most)
      .then(
        ({ granted, waitMs }) => {
          lease.tokens += granted;
          lease.refusedUntilMs = granted > 0 ? 0 : Date.now() + waitMs;
        },
        (error: unknown) => {
          if (!(error instanceof RedisUnavailable)) this.log.error({ what, err: errorText(error) }, 'a budget failed');
          this.takeOwn(lease, what, budget);
        },
      )
      .finally(() => (lease.refilling = null));
  }

  private takeOwn(lease: Lease, what: string, budget: Budget): void {
    const now = Date.now();
    const { own } = lease;
    own.tokens = Math.min(budget.burst, own.tokens + ((now - own.atMs) / 1000) * budget.perSecond);
    own.atMs = now;
    const granted = Math.min(Math.max(chunkOf(budget), lease.waiting), Math.floor(own.tokens));
    own.tokens -= granted;
    lease.tokens += granted;
    lease.refusedUntilMs = granted > 0 ? 0 : now + Math.ceil(((1 - own.tokens) / budget.perSecond) * 1000);
    this.onLocal(what);
  }

  private leaseOf(key: string, budget: Budget, now: number): Lease {
    let lease = this.leases.get(key);
    if (!lease) {
      const own = { tokens: budget.burst, atMs: now };
      lease = { tokens: 0, usedAtMs: now, refusedUntilMs: 0, refilling: null, waiting: 0, own };
      this.leases.set(key, lease);
    }
    return lease;
  }

  private sweep(): void {
    const before = Date.now() - FORGET_AFTER_MS;
    for (const [key, lease] of this.leases) {
      if (lease.usedAtMs < before && lease.waiting === 0 && !lease.refilling) this.leases.delete(key);
    }
  }
}

const limited = (retryAfterMs: number): AppError => new AppError('RATE_LIMITED', { retryAfterMs });

const chunkOf = ({ perSecond, burst }: Budget): number =>
  Math.max(1, Math.floor(Math.min(perSecond / PART_OF_SECOND, burst / PART_OF_BURST)));

/** @returns false when the promise, which never rejects, took longer */
function within(promise: Promise<void>, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    // After a stall of this process the answer may lie in the socket already: it is read first.
    const timer = setTimeout(() => setImmediate(resolve, false), ms);
    void promise.then(() => {
      clearTimeout(timer);
      resolve(true);
    });
  });
}
