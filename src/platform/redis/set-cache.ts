import type { TenantId } from '../ids/ids.js';
import { LEASE_SECONDS, spread, type CacheOptions, type CacheStore } from './cache-store.js';
import { LeasedReads, type CacheReport, type Layout, type LoadMany, type Taken } from './leased-reads.js';
import { loadScript } from './redis-scripts.js';

const TAKE = loadScript(__dirname, 'set_take');
const FILL = loadScript(__dirname, 'set_fill');

type Members = readonly string[];
type Has = ReadonlySet<string>;

/**
 * Sets of ids that know whether they are whole: a "no" is an answer only then. Changes never add to a set in Redis, they
 * remove it, so that there is no set of which a part is known.
 */
export class SetCache {
  private readonly reads: LeasedReads<Members, Has, Has>;

  constructor(
    private readonly caches: CacheStore,
    private readonly options: CacheOptions,
    report: CacheReport,
  ) {
    this.reads = new LeasedReads(this.layout(), report);
  }

  /**
   * Which of `members` are in each of the sets.
   * @param members decimal ids, at most some hundreds
   * @param load reads whole sets from MySQL; a set that is missing in its answer is empty
   * @returns a set of those found for each id. @throws what `load` throws
   */
  async among(
    tenant: TenantId,
    ids: readonly string[],
    members: Members,
    load: LoadMany<Has>,
  ): Promise<Map<string, Has>> {
    if (members.length === 0) return new Map(ids.map((id) => [id, new Set()]));
    const entries = [...new Set(ids)].map((id) => ({ id, key: this.options.keyOf(tenant, id) }));
    return this.reads.read(entries, members, load);
  }

  /** Is `member` in the set of `id`? @throws what `load` throws */
  async has(tenant: TenantId, id: string, member: string, load: LoadMany<Has>): Promise<boolean> {
    return (await this.among(tenant, [id], [member], load)).get(id)?.has(member) ?? false;
  }

  /** As `ValueCache.invalidate`. */
  invalidate(tenant: TenantId, ids: readonly string[]): Promise<boolean> {
    return this.caches.removals.remove(ids.map((id) => this.options.keyOf(tenant, id)));
  }

  private layout(): Layout<Members, Has, Has> {
    const { caches, options } = this;
    return {
      peek: async (keys, members) => {
        const { runId } = caches.server;
        if (runId === null) return keys.map(() => undefined);
        const replies = await caches.scripts.command(`cache_${options.name}`, (client) =>
          Promise.all(keys.map((key) => client.smismember(key, `#${runId}`, ...members).catch(notASet))),
        );
        return replies.map((reply) => (reply?.[0] === 1 ? chosen(members, reply.slice(1)) : undefined));
      },
      take: async (keys, members) => {
        const token = caches.freshToken();
        const replies = await caches.runEach(TAKE, keys, () => [token, LEASE_SECONDS, ...members]);
        return replies.map((reply): Taken<Has> =>
          typeof reply === 'string' ? { lease: reply } : { hit: chosen(members, reply as number[]) },
        );
      },
      fill: (entries) =>
        Promise.all(
          entries.map(async ({ key, lease, value }) => {
            const args = [lease, spread(options.ttlSeconds), ...(value ?? [])];
            return (await caches.scripts.run(FILL, [key], args)) === 'FILLED';
          }),
        ),
      answer: (value, members) => new Set(members.filter((member) => value?.has(member))),
    };
  }
}

const chosen = (members: Members, flags: readonly number[]): Has =>
  new Set(members.filter((_member, index) => flags[index] === 1));

/** A lease stands in the set's place. */
function notASet(error: Error): null {
  if (error.message.startsWith('WRONGTYPE')) return null;
  throw error;
}
