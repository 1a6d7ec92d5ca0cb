import { Cluster } from 'ioredis';
import type { TenantId } from '../ids/ids.js';
import { LEASE_SECONDS, spread, type CacheOptions, type CacheStore } from './cache-store.js';
import { LeasedReads, type CacheReport, type Layout, type LoadMany, type Taken } from './leased-reads.js';
import { loadScript } from './redis-scripts.js';

const TAKE = loadScript(__dirname, 'value_take');
const FILL = loadScript(__dirname, 'value_fill');
const EXTEND = loadScript(__dirname, 'value_extend');

/** Length of `V<run id>:`. */
const HEAD = 42;
const MAX_BYTES = 1024 * 1024;
const ABSENT_TTL_SECONDS = 30;

/**
 * JSON values by id, read through from MySQL. A value counts only on the Redis server that it was filled on. Bound of an
 * old value: none as long as changes remove it before they are acknowledged; `ttlSeconds` + 10 % when a removal was lost.
 */
export class ValueCache<V> {
  private readonly reads: LeasedReads<null, V | null, V>;

  constructor(
    private readonly caches: CacheStore,
    private readonly options: CacheOptions,
    report: CacheReport,
  ) {
    this.reads = new LeasedReads(this.layout(), report);
  }

  /** @returns null when there is no such thing. @throws what `load` throws */
  async get(tenant: TenantId, id: string, load: () => Promise<V | null>): Promise<V | null> {
    const found = await this.many(tenant, [id], async () => {
      const value = await load();
      return new Map(value === null ? [] : [[id, value]]);
    });
    return found.get(id) ?? null;
  }

  /**
   * Several at once: one command to Redis, and one call of `load` for all that it does not have.
   * @returns those that exist. @throws what `load` throws
   */
  async many(tenant: TenantId, ids: readonly string[], load: LoadMany<V>): Promise<Map<string, V>> {
    const entries = [...new Set(ids)].map((id) => ({ id, key: this.options.keyOf(tenant, id) }));
    if (entries.length === 0) return new Map();
    const answers = await this.reads.read(entries, null, load);
    return new Map([...answers].filter((answer): answer is [string, V] => answer[1] !== null));
  }

  /**
   * Removes values and leases after a change was committed; repeating the change repeats it.
   * @returns whether they are gone now; when not, they go as soon as Redis answers. Never throws.
   */
  invalidate(tenant: TenantId, ids: readonly string[]): Promise<boolean> {
    return this.caches.removals.remove(ids.map((id) => this.options.keyOf(tenant, id)));
  }

  /** Lets a value live `ttlSeconds` from now on, if it is there. @throws RedisUnavailable */
  async extend(tenant: TenantId, id: string, ttlSeconds: number): Promise<void> {
    await this.caches.scripts.run(EXTEND, [this.options.keyOf(tenant, id)], [spread(ttlSeconds)]);
  }

  private layout(): Layout<null, V | null, V> {
    const { caches, options } = this;
    return {
      peek: async (keys) => {
        const { runId } = caches.server;
        if (runId === null) return keys.map(() => undefined);
        const held = await caches.scripts.command(`cache_${options.name}`, (client) =>
          client instanceof Cluster ? Promise.all(keys.map((key) => client.get(key))) : client.mget(...keys),
        );
        return held.map((text) => (text?.startsWith(`V${runId}:`) ? decode<V>(text) : undefined));
      },
      take: async (keys) => {
        const token = caches.freshToken();
        const held = (await caches.runEach(TAKE, keys, () => [token, LEASE_SECONDS])) as string[];
        return held.map((text): Taken<V | null> => (text.startsWith('V') ? { hit: decode<V>(text) } : { lease: text }));
      },
      fill: async (entries) => {
        const texts = entries.map(({ value }) => JSON.stringify(value));
        const fitting = entries.flatMap((_entry, index) =>
          Buffer.byteLength(texts[index]) <= MAX_BYTES ? [index] : [],
        );
        const replies = await caches.runEach(
          FILL,
          fitting.map((index) => entries[index].key),
          (chosen) =>
            chosen.flatMap((at) => [
              entries[fitting[at]].lease,
              texts[fitting[at]],
              this.ttlOf(entries[fitting[at]].value),
            ]),
        );
        // What is too big to be kept is answered all the same.
        const refused = new Set(fitting.filter((_index, at) => replies[at] !== 'FILLED'));
        return entries.map((_entry, index) => !refused.has(index));
      },
      answer: (value) => value,
    };
  }

  private ttlOf(value: V | null): number {
    const { ttlSeconds, absentTtlSeconds = ABSENT_TTL_SECONDS } = this.options;
    return spread(value === null ? Math.min(absentTtlSeconds, ttlSeconds) : ttlSeconds);
  }
}

const decode = <V>(text: string): V | null => JSON.parse(text.slice(HEAD)) as V | null;
