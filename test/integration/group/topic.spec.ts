import { asTopic, type Topic, type UserId } from '../../../src/platform/ids/ids.js';
import { isLockWait } from '../../../src/platform/mysql/mysql-errors.js';
import type { TenantDb } from '../../../src/platform/mysql/tenant-db.js';
import { gate, World, type Node } from './world.js';

let world: World;
let node: Node;
let owner: UserId;

beforeAll(async () => {
  world = await World.open();
  node = await world.node();
  [owner] = await world.users(1);
});
afterAll(() => world.close());

const withDb = <T>(work: (db: TenantDb) => Promise<T>): Promise<T> => node.databases.run(world.tenant, work);

describe('the fence', () => {
  it('reads epoch and permissions version; a topic without a row is missing', async () => {
    const topics = [await world.group(node, owner), await world.group(node, owner)];
    await withDb(async (db) => {
      await db.writer.transaction(async (session) => {
        expect(await node.topics.lockEpoch(session, topics[1])).toBe(0);
        await node.topics.setEpoch(session, topics[1], 5);
        await session.commit();
      });
      await db.transaction((tx) => node.topics.raiseAcl(tx, topics[0]));
      const fence = await db.writer.transaction((session) =>
        node.topics.fence(session, [asTopic('grp_77777'), topics[1], topics[0]]),
      );
      expect([...fence.keys()].sort()).toEqual([...topics].sort());
      expect(fence.get(topics[1])).toEqual({ epoch: 5, aclVersion: 0 });
      expect(fence.get(topics[0])).toEqual({ epoch: 0, aclVersion: 1 });
    });
  });

  it('is shared among senders and keeps a change of permissions and a new epoch out until they commit', async () => {
    const topic = await world.group(node, owner);
    const done = gate();
    const held: string[] = [];
    await withDb(async (db) => {
      const senders = [1, 2].map((sender) =>
        db.writer.transaction(async (session) => {
          await node.topics.fence(session, [topic]);
          held.push(`sender ${sender}`);
          if (held.length === 2) done.open();
          await done.opened;
          const raise = db.source.transaction((tx) => node.topics.raiseAcl(tx, topic));
          expect(isLockWait(await raise.catch((error: unknown) => error))).toBe(true);
        }),
      );
      await Promise.all(senders);
      expect(await db.transaction((tx) => node.topics.raiseAcl(tx, topic))).toBe(1);
    });
  });

  it('makes the row of a topic that has none before it locks it, and keeps what is there', async () => {
    const topic = asTopic('grp_66666');
    await withDb(async (db) => {
      const lock = (epoch: number): Promise<number> =>
        db.writer.transaction(async (session) => {
          const found = await node.topics.lockEpoch(session, topic);
          await node.topics.setEpoch(session, topic, epoch);
          await session.commit();
          return found;
        });
      expect([await lock(3), await lock(4), await lock(4)]).toEqual([0, 3, 4]);
      await expect(
        db.writer.transaction((session) => node.topics.setEpoch(session, topic, Number.NaN)),
      ).rejects.toThrow('not an epoch');
    });
  });

  it('never takes anything but a topic name', async () => {
    for (const bad of [undefined, '', 'grp_0', 'grp_1 ', 'x', {}] as unknown as Topic[]) {
      await withDb(async (db) => {
        await expect(db.transaction((tx) => node.topics.raiseAcl(tx, bad))).rejects.toThrow('not a topic name');
        await expect(db.writer.transaction((session) => node.topics.fence(session, [bad]))).rejects.toThrow(
          'not a topic name',
        );
      });
    }
  });
});
