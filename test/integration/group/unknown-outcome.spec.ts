import { DataSource } from 'typeorm';
import type { UserId } from '../../../src/platform/ids/ids.js';
import { gate, until, World, type Node } from './world.js';

/** A change that the database commits after its caller was told that the outcome is open. */
let world: World;
let node: Node;
let owner: UserId;
let member: UserId;

beforeAll(async () => {
  world = await World.open();
  node = await world.node({ MYSQL_STATEMENT_TIMEOUT_MS: 200 });
  [owner, member] = await world.users(2);
}, 30_000);
afterAll(() => world.close());
afterEach(() => jest.restoreAllMocks());

/** The next transaction reaches the server as always; the answer of its end is held. */
function holdTheAnswer(committed: boolean): { open(): void } {
  const held = gate();
  const { transaction } = DataSource.prototype;
  jest.spyOn(DataSource.prototype, 'transaction').mockImplementationOnce(async function (
    this: DataSource,
    ...args: unknown[]
  ) {
    if (!committed) {
      await held.opened;
      throw Object.assign(new Error('Connection lost'), { code: 'PROTOCOL_CONNECTION_LOST' });
    }
    const result: unknown = await (transaction as (...all: unknown[]) => Promise<unknown>).apply(this, args);
    await held.opened;
    return result;
  });
  return held;
}

it.each([true, false])('is told when it turns out, stored %s, without anybody repeating it', async (committed) => {
  const topic = await world.group(node, owner, [member]);
  await node.groups.loadAccess(world.tenant, topic, member);
  const held = holdTheAnswer(committed);
  await expect(node.members.remove(world.actor(owner), topic, member)).rejects.toMatchObject({
    code: 'STORAGE_UNAVAILABLE',
    retryable: true,
  });
  expect(node.told).toEqual([]);
  held.open();
  await until(() => node.told.length >= 3, 10_000);
  // Every node reads the memberships of those whom it may have moved again; then all are told to ask.
  expect(node.told[0]).toEqual({ ask: 'topic:leave', uids: [member] });
  expect(node.told.slice(1)).toMatchObject([{ event: { topics: [topic] } }, { event: { topics: [topic] } }]);
  const access = await node.groups.loadAccess(world.tenant, topic, member);
  expect(access.role).toBe(committed ? null : 'member');
  const client = node.scripts;
  const key = `${world.prefix}:${world.tenant}:group:{${topic}}:access`;
  expect(await client.command('look', (redis) => redis.hget(key, member))).toMatch(committed ? /^-/ : /^member/);
});

it('closes a group that turns out to be dismissed', async () => {
  const topic = await world.group(node, owner, [member]);
  const held = holdTheAnswer(true);
  await expect(node.life.dismiss(world.actor(owner), topic)).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  held.open();
  await until(() => node.told.some((told) => 'ask' in told && told.ask === 'topic:close'), 10_000);
});

it('follows nothing when the database said what happened', async () => {
  const topic = await world.group(node, owner, [member]);
  await expect(node.members.remove(world.actor(member), topic, owner)).rejects.toMatchObject({ code: 'FORBIDDEN' });
  expect(node.told).toEqual([]);
});
