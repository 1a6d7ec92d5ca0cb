import { Injectable } from '@nestjs/common';
import { Logger } from '../observe/logger.js';
import { Metrics } from '../observe/metrics.js';
import { type CacheOptions, CacheStore } from './cache-store.js';
import type { CacheReport } from './leased-reads.js';
import { SetCache } from './set-cache.js';
import { ValueCache } from './value-cache.js';

const LOG_EVERY_MS = 10_000;

/** Makes the caches of the modules; what they hold and how they read through is in `LeasedReads`. */
@Injectable()
export class LeaseCaches {
  private readonly requests;
  private readonly fallbacks;

  constructor(
    private readonly store: CacheStore,
    private readonly log: Logger,
    metrics: Metrics,
  ) {
    this.requests = metrics.counter('im_cache_requests_total', 'Entries asked of a cache', ['cache', 'result']);
    this.fallbacks = metrics.counter('im_cache_fallback_total', 'Entries read from MySQL past a cache', [
      'cache',
      'reason',
    ]);
  }

  /** A cache of JSON values, with "there is none" among them. */
  values<V>(options: CacheOptions): ValueCache<V> {
    return new ValueCache<V>(this.store, options, this.reportOf(options.name));
  }

  /** A cache of sets of ids. */
  sets(options: CacheOptions): SetCache {
    return new SetCache(this.store, options, this.reportOf(options.name));
  }

  private reportOf(cache: string): CacheReport {
    let loggedAtMs = 0;
    return {
      request: (result, count) => {
        if (count > 0) this.requests.inc({ cache, result }, count);
      },
      fallback: (reason, count, error) => {
        this.fallbacks.inc({ cache, reason }, count);
        if (Date.now() - loggedAtMs < LOG_EVERY_MS) return;
        loggedAtMs = Date.now();
        this.log.warn({ cache, reason, error: error?.message }, 'a cache is passed by: reads go to MySQL');
      },
    };
  }
}
