import { Coalesced } from '../mysql/coalesced.js';

/** What Redis knows of an entry: the answer, or the lease to fill it with. */
export type Taken<H> = { readonly hit: H } | { readonly lease: string };

/** How entries of one kind lie in Redis. */
export interface Layout<A, H, V> {
  /** One command for all keys; undefined where there is no usable answer. Whatever it throws means: ask MySQL. */
  peek(keys: readonly string[], ask: A): Promise<(H | undefined)[]>;
  take(keys: readonly string[], ask: A): Promise<Taken<H>[]>;
  /** @returns for each entry whether its lease still stood */
  fill(
    entries: readonly { readonly key: string; readonly lease: string; readonly value: V | null }[],
  ): Promise<boolean[]>;
  answer(value: V | null, ask: A): H;
}

export interface Entry {
  readonly id: string;
  readonly key: string;
}

interface Miss extends Entry {
  readonly lease: string;
}

interface Looked<H> {
  readonly hits: ReadonlyMap<string, H>;
  readonly misses: readonly Miss[];
}

export type LoadMany<V> = (ids: readonly string[]) => Promise<ReadonlyMap<string, V>>;

/** What the cache tells of itself. */
export interface CacheReport {
  request(result: 'hit' | 'miss' | 'joined' | 'refused', count: number): void;
  fallback(reason: 'redis' | 'contended', count: number, error?: Error): void;
}

/** A load under way. What was read under a lease is good for everybody who was answered with the same lease. */
interface Flight<V> {
  readonly lease: string;
  readonly outcome: Promise<{ readonly value: V | null; readonly standing: boolean }>;
}

/** Loads of one call before what is read is no longer kept: somebody changes the thing all the time. */
const FILL_TRIES = 3;

/**
 * Cache-aside with leases. A miss takes a lease; what is loaded is kept only if the lease still stands; a change removes
 * value and lease after its commit. So a reader that was slow can never put an old value back.
 *
 * What a caller gets is never older than his call, as far as changes were removed from the cache before they were
 * acknowledged: a hit was read after he asked, and a load is shared only with those who were answered with its lease. The
 * lease stood when they asked, so no change was acknowledged between its beginning and their call.
 */
export class LeasedReads<A, H, V> {
  private readonly flights = new Map<string, Flight<V>>();
  private readonly looks = new Coalesced<Looked<H>>();
  private readonly direct = new Coalesced<ReadonlyMap<string, V>>();

  constructor(
    private readonly layout: Layout<A, H, V>,
    private readonly report: CacheReport,
  ) {}

  /**
   * @returns an answer for every entry
   * @throws what `load` throws; a failure of Redis is no failure
   */
  async read(entries: readonly Entry[], ask: A, load: LoadMany<V>): Promise<Map<string, H>> {
    const answers = new Map<string, H>();
    let pending = entries;
    let reason: 'redis' | 'contended' = 'contended';
    for (let attempt = 1; attempt <= FILL_TRIES && pending.length > 0; attempt += 1) {
      const looked = await this.look(pending, ask);
      if (looked === null) {
        reason = 'redis';
        break;
      }
      for (const [id, hit] of looked.hits) answers.set(id, hit);
      this.report.request('hit', looked.hits.size);
      pending = await this.loadMissing(looked.misses, ask, load, answers);
    }
    if (pending.length > 0) await this.withoutCache(pending, ask, load, answers, reason);
    return answers;
  }

  /** @returns null when Redis cannot be used */
  private async look(entries: readonly Entry[], ask: A): Promise<Looked<H> | null> {
    try {
      // Many who ask for one thing at the same time share a look, each one that began after he asked.
      return entries.length === 1
        ? await this.looks.run(`${entries[0].key} ${JSON.stringify(ask)}`, () => this.lookAt(entries, ask))
        : await this.lookAt(entries, ask);
    } catch (error) {
      this.report.fallback('redis', entries.length, error as Error);
      return null;
    }
  }

  private async lookAt(entries: readonly Entry[], ask: A): Promise<Looked<H>> {
    const keysOf = (some: readonly Entry[]): string[] => some.map(({ key }) => key);
    const hits = new Map<string, H>();
    const seen = await this.layout.peek(keysOf(entries), ask);
    entries.forEach(({ id }, index) => {
      const hit = seen[index];
      if (hit !== undefined) hits.set(id, hit);
    });
    const unseen = entries.filter(({ id }) => !hits.has(id));
    if (unseen.length === 0) return { hits, misses: [] };
    const taken = await this.layout.take(keysOf(unseen), ask);
    const misses: Miss[] = [];
    unseen.forEach((entry, index) => {
      const found = taken[index];
      if ('hit' in found) hits.set(entry.id, found.hit);
      else misses.push({ ...entry, lease: found.lease });
    });
    return { hits, misses };
  }

  /** Loads what nobody here is loading under the same lease, and waits for the rest. @returns what was refused */
  private async loadMissing(
    misses: readonly Miss[],
    ask: A,
    load: LoadMany<V>,
    answers: Map<string, H>,
  ): Promise<Entry[]> {
    const mine = misses.filter(({ key, lease }) => this.flights.get(key)?.lease !== lease);
    this.report.request('miss', mine.length);
    this.report.request('joined', misses.length - mine.length);
    const flights = misses.map(({ key, lease }) => {
      const flight = this.flights.get(key);
      return flight?.lease === lease ? flight : null;
    });
    if (mine.length > 0) this.start(mine, load);
    const refused: Entry[] = [];
    await Promise.all(
      misses.map(async (entry, index) => {
        const flight = flights[index] ?? (this.flights.get(entry.key) as Flight<V>);
        const { value, standing } = await flight.outcome;
        if (standing) answers.set(entry.id, this.layout.answer(value, ask));
        else refused.push(entry);
      }),
    );
    this.report.request('refused', refused.length);
    return refused;
  }

  /** One load for all entries, each filled under its own lease. */
  private start(entries: readonly Miss[], load: LoadMany<V>): void {
    const all = this.loadAndFill(entries, load);
    entries.forEach(({ id, key, lease }, index) => {
      const outcome = all.then(({ values, standing }) => ({
        value: values.get(id) ?? null,
        standing: standing[index],
      }));
      const flight: Flight<V> = { lease, outcome };
      this.flights.set(key, flight);
      const over = (): void => void (this.flights.get(key) === flight && this.flights.delete(key));
      outcome.then(over, over);
    });
  }

  private async loadAndFill(
    entries: readonly Miss[],
    load: LoadMany<V>,
  ): Promise<{ values: ReadonlyMap<string, V>; standing: boolean[] }> {
    const values = await load(entries.map(({ id }) => id));
    try {
      const fills = entries.map(({ id, key, lease }) => ({ key, lease, value: values.get(id) ?? null }));
      return { values, standing: await this.layout.fill(fills) };
    } catch (error) {
      // Not kept. It is still what was stored after all who wait for it had asked.
      this.report.fallback('redis', entries.length, error as Error);
      return { values, standing: entries.map(() => true) };
    }
  }

  private async withoutCache(
    entries: readonly Entry[],
    ask: A,
    load: LoadMany<V>,
    answers: Map<string, H>,
    reason: 'redis' | 'contended',
  ): Promise<void> {
    if (reason === 'contended') this.report.fallback(reason, entries.length);
    const ids = entries.map(({ id }) => id);
    // Callers of one turn of the event loop, whom an open breaker refused at once, share the query.
    await new Promise((resolve) => setImmediate(resolve));
    const values = await this.direct.run(entries.map(({ key }) => key).join(' '), () => load(ids));
    for (const { id } of entries) answers.set(id, this.layout.answer(values.get(id) ?? null, ask));
  }
}
