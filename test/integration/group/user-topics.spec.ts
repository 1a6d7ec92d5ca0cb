import type { Topic, UserId } from '../../../src/platform/ids/ids.js';
import { gate, until, World, type Node } from './world.js';

/** The cached lists of a user's groups: one connection hears what is in them, so they are rights. */
let world: World;
let a: Node;
let b: Node;
let owner: UserId;
let user: UserId;
let topic: Topic;

beforeAll(async () => {
  world = await World.open();
  [a, b] = [await world.node(), await world.node()];
}, 30_000);
afterAll(() => world.close());
beforeEach(async () => {
  [owner, user] = await world.users(2);
  topic = await world.group(a, owner, [user]);
});
afterEach(() => {
  jest.restoreAllMocks();
  for (const node of [a, b]) {
    node.scripts.down = false;
    node.confirm = () => Promise.resolve(true);
  }
});

const topicsOf = (node: Node, uid = user): Promise<readonly Topic[]> => node.groups.topicsOf(world.tenant, uid);
const boss = () => world.actor(owner);

async function expectLists(wanted: readonly Topic[], uid = user): Promise<void> {
  for (let round = 0; round < 2; round += 1) {
    for (const node of [a, b]) expect(await topicsOf(node, uid)).toEqual(wanted);
  }
}

/** Holds a list that a node has read until it is let go. */
function pauseLoad(node: Node): { reached: Promise<void>; go: () => void } {
  const [reached, open] = [gate(), gate()];
  const load = node.groups.topicsFromMysql.bind(node.groups);
  jest.spyOn(node.groups, 'topicsFromMysql').mockImplementationOnce(async (tenant, uid) => {
    const topics = await load(tenant, uid);
    reached.open();
    await open.opened;
    return topics;
  });
  return { reached: reached.opened, go: () => open.open() };
}

it('is read once for both nodes, for one who is in no group as well', async () => {
  const [loner] = await world.users(1);
  for (const uid of [user, loner]) await topicsOf(a, uid);
  const loads = [a, b].map((node) => jest.spyOn(node.groups, 'topicsFromMysql'));
  await expectLists([topic]);
  await expectLists([], loner);
  for (const load of loads) expect(load).not.toHaveBeenCalled();
});

it('is right on both nodes as soon as a change is acknowledged', async () => {
  await expectLists([topic]);
  await a.members.remove(boss(), topic, user);
  await expectLists([]);
  await b.members.add(boss(), topic, [user]);
  await expectLists([topic]);
  await a.members.remove(world.actor(user), topic, user);
  await expectLists([]);
  const { topic: second } = await b.life.create(boss(), { name: 'Second', memberUids: [user] });
  await expectLists([second]);
  await expectLists([topic, second], owner);
  await a.life.dismiss(boss(), second);
  await expectLists([]);
  await expectLists([topic], owner);
});

it('does not bring back a group that a slow reader had read before a kick', async () => {
  const paused = pauseLoad(a);
  const early = topicsOf(a);
  await paused.reached;
  await b.members.remove(boss(), topic, user);
  // One who asks now does not join that reader, on his node neither.
  await expectLists([]);
  paused.go();
  // He asked before the kick, but what he had read no longer stands: he reads again.
  expect(await early).toEqual([]);
  await expectLists([]);
});

it('does not lose a group that somebody was added to while a slow reader was at it', async () => {
  const { topic: other } = await a.life.create(boss(), { name: 'Other' });
  await a.members.remove(boss(), topic, user);
  const paused = pauseLoad(b);
  const early = topicsOf(b);
  await paused.reached;
  await a.members.add(boss(), other, [user]);
  paused.go();
  await early;
  await expectLists([other]);
});

it('comes from MySQL while Redis is away', async () => {
  await expectLists([topic]);
  for (const node of [a, b]) node.scripts.down = true;
  await world.query("UPDATE im_group_members SET state = 'left' WHERE group_id = ? AND uid = ?", [
    topic.slice(4),
    user,
  ]);
  await expectLists([]);
});

it('keeps a kick from being acknowledged until it is gone', async () => {
  await expectLists([topic]);
  a.scripts.down = true;
  await expect(a.members.remove(boss(), topic, user)).rejects.toMatchObject({ code: 'SHORT_STATE_UNAVAILABLE' });
  // The other node does not know yet: that is why nobody was told that it is done.
  expect(await topicsOf(b)).toEqual([topic]);
  a.scripts.down = false;
  await a.members.remove(boss(), topic, user);
  await expectLists([]);
});

it('is gone soon after Redis is back when somebody was added without it, and the nodes look again', async () => {
  const [late] = await world.users(1);
  await expectLists([], late);
  a.scripts.down = true;
  a.confirm = () => Promise.reject(new Error('no Redis'));
  // A failure of Redis does not fail what is stored.
  expect((await a.members.add(boss(), topic, [late])).added).toEqual([late]);
  a.told.length = 0;
  a.confirm = () => Promise.resolve(true);
  a.scripts.down = false;
  await until(async () => (await topicsOf(b, late)).length === 1);
  await until(() => a.told.some((told) => 'ask' in told && told.ask === 'topic:leave' && told.uids?.[0] === late));
  await expectLists([topic], late);
});
