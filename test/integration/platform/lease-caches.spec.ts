import { asTenantId } from '../../../src/platform/ids/ids.js';
import type { SetCache } from '../../../src/platform/redis/set-cache.js';
import type { ValueCache } from '../../../src/platform/redis/value-cache.js';
import { CacheNode } from '../../support/cache-node.js';
import { freshName } from '../../support/environment.js';
import { until } from '../../support/until.js';

const TENANT = asTenantId('7');
let a: CacheNode;
let b: CacheNode;
let values: ValueCache<{ v: number }>;
let others: ValueCache<{ v: number }>;
let sets: SetCache;
let otherSets: SetCache;
let ids = 0;
let id: string;

beforeAll(async () => {
  const name = freshName();
  [a, b] = [await CacheNode.open(name), await CacheNode.open(name)];
  [values, others] = [a, b].map((node) => node.caches.values<{ v: number }>(node.options('value')));
  [sets, otherSets] = [a, b].map((node) => node.caches.sets(node.options('set')));
});
afterAll(() => Promise.all([a, b].map((node) => node.close())));
beforeEach(() => {
  ids += 1;
  id = String(ids);
});
afterEach(() => {
  for (const node of [a, b]) node.scripts.down = false;
});

function gate(): { opened: Promise<void>; open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

const keyOf = (cache: string): string => a.key(TENANT, cache, id);
const redis = () => a.clients.command;

describe('a value cache', () => {
  it('reads through once, then from Redis on every node', async () => {
    let loads = 0;
    const load = async () => ({ v: (loads += 1) });
    expect(await values.get(TENANT, id, load)).toEqual({ v: 1 });
    expect(await others.get(TENANT, id, load)).toEqual({ v: 1 });
    expect(loads).toBe(1);
    const ttl = await redis().ttl(keyOf('value'));
    expect(ttl).toBeGreaterThanOrEqual(269);
    expect(ttl).toBeLessThanOrEqual(330);
  });

  it('keeps tenants apart', async () => {
    await values.get(TENANT, id, async () => ({ v: 1 }));
    expect(await values.get(asTenantId('8'), id, async () => ({ v: 2 }))).toEqual({ v: 2 });
  });

  it('is loaded once by a thousand readers at the same time, on each node about once', async () => {
    let loads = 0;
    const load = async () => {
      loads += 1;
      await new Promise((resolve) => setTimeout(resolve, 50));
      return { v: 1 };
    };
    const read = Array.from({ length: 1000 }, (_, index) => (index % 2 ? values : others).get(TENANT, id, load));
    expect(new Set((await Promise.all(read)).map((value) => value?.v))).toEqual(new Set([1]));
    // A second wave, whose lease somebody else's fill has used up, may load once more.
    expect(loads).toBeLessThanOrEqual(4);
  });

  it('remembers for a short time that there is nothing, until it is made', async () => {
    let loads = 0;
    const none = async () => {
      loads += 1;
      return null;
    };
    for (let round = 0; round < 3; round += 1) expect(await values.get(TENANT, id, none)).toBeNull();
    expect(loads).toBe(1);
    expect(await redis().ttl(keyOf('value'))).toBeLessThanOrEqual(33);
    expect(await others.invalidate(TENANT, [id])).toBe(true);
    expect(await values.get(TENANT, id, async () => ({ v: 1 }))).toEqual({ v: 1 });
  });

  it('reads several by one command and loads the missing ones by one call', async () => {
    const all = Array.from({ length: 50 }, (_, index) => `${id}-${index}`);
    const asked: string[][] = [];
    const load = async (missing: readonly string[]) => {
      asked.push([...missing]);
      return new Map(
        missing.filter((one) => !one.endsWith('-9')).map((one) => [one, { v: Number(one.split('-')[1]) }]),
      );
    };
    await values.many(TENANT, all.slice(0, 20), load);
    const found = await others.many(TENANT, all, load);
    expect(asked).toEqual([all.slice(0, 20), all.slice(20)]);
    expect([...found.keys()].sort()).toEqual(all.filter((one) => !one.endsWith('-9')).sort());
    let commands = 0;
    const { command } = b.scripts;
    jest.spyOn(b.scripts, 'command').mockImplementation((...args) => {
      commands += 1;
      return command.apply(b.scripts, args) as never;
    });
    await others.many(TENANT, all, load);
    jest.restoreAllMocks();
    expect([commands, asked.length]).toEqual([1, 2]);
  });

  it('does not keep what was read before a change: a paused reader is refused, and all who joined read again', async () => {
    let stored = 1;
    const paused = gate();
    const reached = gate();
    const slow = async () => {
      const v = stored;
      reached.open();
      await paused.opened;
      return { v };
    };
    const early = values.get(TENANT, id, slow);
    await reached.opened;
    const before = await a.counted('value', 'joined');
    const joined = values.get(TENANT, id, slow);
    await until('the second reader joins the load', async () => (await a.counted('value', 'joined')) > before);
    stored = 2;
    await others.invalidate(TENANT, [id]);
    const late = values.get(TENANT, id, async () => ({ v: stored }));
    expect(await late).toEqual({ v: 2 });
    paused.open();
    expect(await Promise.all([early, joined])).toEqual([{ v: 2 }, { v: 2 }]);
    for (const cache of [values, others]) expect(await cache.get(TENANT, id, async () => null)).toEqual({ v: 2 });
    expect(await a.counted('value', 'refused')).toBeGreaterThan(0);
  });

  it('shares a failure with those who waited and keeps it for nobody', async () => {
    let tries = 0;
    const failing = async (): Promise<{ v: number }> => {
      tries += 1;
      await new Promise((resolve) => setTimeout(resolve, 20));
      throw new Error('no database');
    };
    const read = await Promise.allSettled([1, 2, 3].map(() => values.get(TENANT, id, failing)));
    expect(read.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(tries).toBe(1);
    expect(await values.get(TENANT, id, async () => ({ v: 1 }))).toEqual({ v: 1 });
  });

  it('answers from MySQL while Redis is away, and removes what it owes when it is back', async () => {
    await values.get(TENANT, id, async () => ({ v: 1 }));
    a.scripts.down = true;
    expect(await values.get(TENANT, id, async () => ({ v: 2 }))).toEqual({ v: 2 });
    expect(await values.invalidate(TENANT, [id])).toBe(false);
    a.scripts.down = false;
    // Redis carries it out a moment before the node knows.
    await until('the owed removal happens', () => a.removals.owedCount === 0);
    expect(await redis().exists(keyOf('value'))).toBe(0);
    expect(await others.get(TENANT, id, async () => ({ v: 2 }))).toEqual({ v: 2 });
  });

  it('does not believe a value, a lease or a type of another server', async () => {
    const other = 'f'.repeat(40);
    await redis().set(keyOf('value'), `V${other}:{"v":1}`);
    expect(await values.get(TENANT, id, async () => ({ v: 2 }))).toEqual({ v: 2 });
    await redis().set(keyOf('value'), `L${other}:abc`);
    expect(await values.get(TENANT, id, async () => ({ v: 3 }))).toEqual({ v: 3 });
    await redis().del(keyOf('value'));
    await redis().hset(keyOf('value'), 'v', '1');
    expect(await values.get(TENANT, id, async () => ({ v: 4 }))).toEqual({ v: 4 });
    expect(await others.get(TENANT, id, async () => null)).toEqual({ v: 4 });
  });

  it('gives up keeping what changes during each load, and answers all the same', async () => {
    let v = 0;
    const load = async () => {
      v += 1;
      await others.invalidate(TENANT, [id]);
      return { v };
    };
    expect(await values.get(TENANT, id, load)).toEqual({ v: 4 });
    expect(await redis().exists(keyOf('value'))).toBe(0);
  });

  it('extends a value, never a lease', async () => {
    await values.extend(TENANT, id, 7200);
    expect(await redis().exists(keyOf('value'))).toBe(0);
    await values.get(TENANT, id, async () => ({ v: 1 }));
    await values.extend(TENANT, id, 7200);
    expect(await redis().ttl(keyOf('value'))).toBeGreaterThan(6400);
  });

  it('does not keep what is above one megabyte', async () => {
    const cache = a.caches.values<string>(a.options('big'));
    const big = 'x'.repeat(1024 * 1024);
    expect(await cache.get(TENANT, id, async () => big)).toBe(big);
    expect((await redis().get(a.key(TENANT, 'big', id)))?.[0]).toBe('L');
  });
});

describe('a set cache', () => {
  const load = (members: readonly string[]) => async (missing: readonly string[]) =>
    new Map(missing.map((one) => [one, new Set(members)]));

  it('tells who is in it, only when it is whole', async () => {
    expect(await sets.has(TENANT, id, '5', load(['5', '6']))).toBe(true);
    const nothing = async () => Promise.reject(new Error('not asked'));
    expect(await otherSets.has(TENANT, id, '6', nothing)).toBe(true);
    expect(await otherSets.has(TENANT, id, '7', nothing)).toBe(false);
    expect(await redis().type(keyOf('set'))).toBe('set');
    // What somebody adds to a set that has gone is no whole set.
    await redis().del(keyOf('set'));
    await redis().sadd(keyOf('set'), '9');
    expect(await otherSets.has(TENANT, id, '9', load(['5']))).toBe(false);
    expect(await otherSets.has(TENANT, id, '5', nothing)).toBe(true);
  });

  it('keeps an empty set', async () => {
    let loads = 0;
    const none = async () => {
      loads += 1;
      return new Map();
    };
    for (const cache of [sets, otherSets]) expect(await cache.has(TENANT, id, '5', none)).toBe(false);
    expect(loads).toBe(1);
  });

  it('asks many sets at once and loads the missing ones by one call', async () => {
    const all = Array.from({ length: 20 }, (_, index) => `${id}00${index}`);
    await sets.among(TENANT, all.slice(0, 5), ['1'], load(['1']));
    const asked: (readonly string[])[] = [];
    const found = await sets.among(TENANT, all, ['1', '2'], async (missing) => {
      asked.push(missing);
      return new Map(missing.map((one) => [one, new Set(['2'])]));
    });
    expect(asked).toEqual([all.slice(5)]);
    expect([...found.values()].map((has) => [...has])).toEqual(all.map((_one, index) => (index < 5 ? ['1'] : ['2'])));
  });

  it('holds thousands', async () => {
    const members = Array.from({ length: 12_000 }, (_, index) => String(index + 1));
    expect(await sets.has(TENANT, id, '11999', load(members))).toBe(true);
    expect(await redis().scard(keyOf('set'))).toBe(12_001);
  });

  it('is not filled by a reader who was slow', async () => {
    const [paused, reached] = [gate(), gate()];
    const early = sets.has(TENANT, id, '5', async (missing) => {
      reached.open();
      await paused.opened;
      return new Map(missing.map((one) => [one, new Set(['5'])]));
    });
    await reached.opened;
    await otherSets.invalidate(TENANT, [id]);
    paused.open();
    await early;
    // It was loaded again, by the same slow loader; what was read before the change is not there.
    await otherSets.invalidate(TENANT, [id]);
    expect(await sets.has(TENANT, id, '5', load([]))).toBe(false);
    expect(await otherSets.has(TENANT, id, '5', load(['5']))).toBe(false);
  });
});
