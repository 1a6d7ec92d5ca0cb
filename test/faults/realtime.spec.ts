import { join } from 'node:path';
import { loadScript } from '../../src/platform/redis/redis-scripts.js';
import type { TestClient } from '../support/client.js';
import { checkAnswered, checkPromise, checkRefusals } from '../support/checker.js';
import { FaultStage, REDIS_DATABASE } from '../support/fault-stage.js';
import { until } from '../support/until.js';

const LUA = join(__dirname, '..', '..', 'src', 'modules', 'group-message');
const DOWN_MS = 1_000;

let faults: FaultStage;
/** One a node; they only listen, so that nothing that they hear was pulled for. */
let listeners: TestClient[];

beforeAll(async () => {
  faults = await FaultStage.open();
}, 120_000);
afterAll(() => faults.close());
beforeEach(async () => {
  await faults.gather();
  listeners = await Promise.all(faults.nodes.map((node) => faults.stage.connect(node, faults.users[3])));
}, 30_000);
afterEach(() => listeners.forEach((listener) => listener.close()));

const check = async (): Promise<void> => {
  checkRefusals(faults.members, 8_000);
  checkAnswered(faults.members);
  await checkPromise(faults.stage, 'demo', faults.topic, faults.members);
};

/** Messages of one node's members are heard on the other one, both ways, without a pull. */
const realtimeHeals = async (): Promise<void> => {
  for (const [sender, listener] of [
    [faults.members[0], listeners[1]],
    [faults.members[1], listeners[0]],
  ] as const) {
    await until(
      'a message is heard on the other node',
      async () => {
        const id = faults.nextId();
        await sender.send(id, 'is anybody there?');
        const heard = (): boolean => listener.heard(faults.topic).some((message) => message.clientMsgId === id);
        return until('it is heard', heard, 1_000).catch(() => false);
      },
      30_000,
    );
  }
};

const resyncs = (): number[] => listeners.map((listener) => listener.events('topic:resync').length);

describe('the connection to Redis is cut while a command runs', () => {
  it.each([
    ['admit', '-- Admit: '],
    ['settle', '-- Settle: '],
  ])(
    '%s: the send is answered in time, and stored once',
    async (verb, firstLine) => {
      const [sender, other] = faults.members;
      await sender.send(faults.nextId(), 'warms up');
      const cut = faults.wire.cutAfter([loadScript(LUA, verb).sha, firstLine], DOWN_MS);
      const sending = sender.send(faults.nextId(), 'its script ran, the answer was lost');
      await cut;
      await other.send(faults.nextId(), 'the other node goes on meanwhile');
      await sending;
      await sender.send(faults.nextId(), 'and so does this one');
      await realtimeHeals();
      await check();
      expect(faults.members.map((member) => member.connections)).toEqual([1, 1, 1, 1]);
      expect(await faults.usedDatabases()).toEqual([REDIS_DATABASE]);
    },
    60_000,
  );
});

describe('realtime after a blip', () => {
  const blip = async (harm: () => Promise<unknown>, struck: readonly number[] = [0, 1]): Promise<void> => {
    await realtimeHeals();
    faults.startLoad(1);
    await faults.moreAcks(20);
    const before = resyncs();
    await harm();
    await faults.moreAcks(40);
    await until('every client is told to ask', () => struck.every((node) => resyncs()[node] > before[node]), 30_000);
    await faults.stopLoad();
    await realtimeHeals();
    expect(listeners.every((listener) => listener.socket.connected)).toBe(true);
    await check();
  };

  it('subscribers are killed: it heals in seconds, clients are told to ask, the gap is pulled', async () => {
    await blip(() => faults.redisClient.call('CLIENT', 'KILL', 'TYPE', 'pubsub'));
  }, 90_000);

  it('Redis is started again: the same', async () => {
    await blip(async () => {
      await faults.redis.kill();
      await faults.redis.start();
    });
  }, 90_000);

  it('a subscriber goes deaf while its connection stays open: it is noticed', async () => {
    await blip(async () => {
      expect(faults.wire.deafen()).toBeGreaterThan(0);
    }, [0]);
  }, 90_000);
});
