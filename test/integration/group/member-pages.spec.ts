import type { Topic, UserId } from '../../../src/platform/ids/ids.js';
import { gate, World, type Node } from './world.js';

/** Snapshots of the member list's pages: shared by nodes, never older than the group. */
let world: World;
let a: Node;
let b: Node;
let users: UserId[];
let topic: Topic;

beforeAll(async () => {
  world = await World.open();
  [a, b] = [await world.node(), await world.node()];
  users = await world.users(8);
}, 30_000);
afterAll(() => world.close());
beforeEach(async () => {
  topic = await world.group(a, users[0], users.slice(1, 6));
});
afterEach(() => {
  jest.restoreAllMocks();
  for (const node of [a, b]) node.scripts.down = false;
});

const page = (node: Node, asker = users[0], more: object = {}) =>
  node.list.page(world.actor(asker), topic, { limit: 3, ...more });

/** Counts the SELECTs of the list itself. */
function countReads(node: Node): { reads: number } {
  const counted = { reads: 0 };
  const { run } = node.databases;
  jest.spyOn(node.databases, 'run').mockImplementation(((tenant: never, work: (db: unknown) => Promise<unknown>) =>
    run.call(node.databases, tenant, (db) => {
      const watched = new Proxy(db, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name);
          if (name !== 'query') return typeof value === 'function' ? (value.bind(target) as unknown) : value;
          return (sql: string, values: unknown[]) => {
            if (sql.includes('ORDER BY m.joined_at')) counted.reads += 1;
            return target.query(sql, values);
          };
        },
      });
      return work(watched);
    })) as never);
  return counted;
}

it('a page is read once for both nodes and all who ask for it', async () => {
  const first = await page(a);
  const counted = countReads(b);
  expect(await page(b)).toEqual(first);
  expect(await page(b, users[3])).toEqual(first);
  expect(counted.reads).toBe(0);
  expect(first).toMatchObject({ total: 6 });
});

it('a change is seen by the next page, on both nodes', async () => {
  const wasThere = users[2];
  for (const node of [a, b]) expect((await page(node)).items.map(({ uid }) => uid)).toContain(wasThere);
  await a.members.remove(world.actor(users[0]), topic, wasThere);
  for (const node of [b, a]) {
    const read = await page(node);
    expect([read.total, read.items.some(({ uid }) => uid === wasThere)]).toEqual([5, false]);
  }
  await b.members.patch(world.actor(users[0]), topic, users[5], { role: 'admin' });
  expect((await page(a)).items.map(({ role }) => role)).toEqual(['owner', 'admin', 'member']);
});

it('who is out reads no page, cached or not', async () => {
  await page(a, users[4]);
  await b.members.remove(world.actor(users[0]), topic, users[4]);
  await expect(page(a, users[4])).rejects.toMatchObject({ code: 'NOT_MEMBER' });
});

it('a reader who was slow leaves nothing old behind', async () => {
  const [reached, paused] = [gate(), gate()];
  const { run } = a.databases;
  let calls = 0;
  jest.spyOn(a.databases, 'run').mockImplementation((async (tenant: never, work: never) => {
    const result: unknown = await run.call(a.databases, tenant, work);
    calls += 1;
    // The first is the permission, the second the page.
    if (calls === 2) {
      reached.open();
      await paused.opened;
    }
    return result;
  }) as never);
  const early = page(a);
  await reached.opened;
  await b.members.remove(world.actor(users[0]), topic, users[1]);
  paused.open();
  await early;
  for (const node of [a, b]) expect((await page(node)).items.map(({ uid }) => uid)).not.toContain(users[1]);
});

it('a page comes from MySQL while Redis is away', async () => {
  await page(a);
  a.scripts.down = true;
  expect((await page(a)).total).toBe(6);
  expect((await page(a, users[0], { q: 'Name' })).total).toBe(6);
});
