import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { checkAnswered, checkPromise, checkRefusals } from '../support/checker.js';
import { FaultStage, FULL_LENGTH, type TopicKey } from '../support/fault-stage.js';
import { pause } from '../support/load.js';
import { Secret } from './secret.js';
import { until } from '../support/until.js';
import { talkThroughOutage } from './talkers.js';

/** A send may take 1 s to be refused; the rest is for a loaded machine. */
const REFUSED_WITHIN_MS = 2_500;

const HOT: ReadonlySet<TopicKey> = new Set(['topicHot', 'topicHotMeta']);

let faults: FaultStage;

beforeAll(async () => {
  faults = await FaultStage.open({ HOT_MIN_MEMBERS: '1' });
}, 120_000);
afterAll(() => faults.close());

const check = async (): Promise<void> => {
  checkRefusals(faults.members, REFUSED_WITHIN_MS);
  checkAnswered(faults.members);
  await checkPromise(faults.stage, 'demo', faults.topic, faults.members);
};

describe('Redis under load', () => {
  beforeEach(() => faults.gather(), 30_000);

  it('killed and started empty: no number twice, nothing acknowledged is lost, sending resumes by itself', async () => {
    faults.startLoad();
    await faults.moreAcks(100);
    for (let round = 0; round < 2; round += 1) {
      await faults.redis.kill();
      await until('sends are refused', () => faults.members.some((member) => member.refusals.length > 0));
      await faults.redis.start();
      await faults.moreAcks(100);
    }
    await faults.stopLoad();
    await check();
  }, 120_000);

  it('rolled back to an older dump, under load and on the then quiet topic', async () => {
    faults.startLoad();
    await faults.moreAcks(60);
    const secret = await Secret.send(faults);
    await secret.readHot();
    await faults.redisClient.save();
    await faults.moreAcks(60);
    await secret.recall();
    await faults.redis.kill();
    await faults.redis.start();
    await secret.expectGone();
    await faults.moreAcks(60);
    await secret.expectGone();
    await faults.stopLoad();
    // Now nobody sends: whoever reads has to find out that the counter went back.
    await faults.redis.kill();
    await faults.redis.start();
    const late = await faults.join(5);
    await secret.expectGone();
    await check();
    expect(late.known.length).toBeGreaterThan(180);
    rmSync(join(faults.folder, 'redis', 'dump.rdb'));
  }, 120_000);

  it('frozen: sends fail soon, reads go on, no connection is dropped, and it recovers by itself', async () => {
    faults.startLoad();
    await faults.moreAcks(100);
    const sockets = await Promise.all(faults.members.map((member) => member.connect()));
    faults.redis.signal('SIGSTOP');
    const frozenAtMs = performance.now();
    const readsOf = (index: number) => faults.members[index].reads.filter((read) => read.atMs > frozenAtMs + 100);
    await until('sends are refused', () => faults.members.every((member) => member.refusals.length > 3), 20_000);
    await until('everybody reads', () => faults.members.every((_, index) => readsOf(index).length > 2), 20_000);
    const reads = faults.members.flatMap((_, index) => readsOf(index));
    const page = await sockets[0].history(faults.topic, { afterSeq: 0, limit: 10 });
    faults.redis.signal('SIGCONT');
    expect(page).toMatchObject({ ok: true, source: 'mysql' });
    expect(page.messages).toHaveLength(10);
    expect(reads.filter((read) => read.source !== 'mysql' || read.tookMs > 5_000)).toEqual([]);
    await faults.moreAcks(50);
    await faults.stopLoad();
    expect(sockets.every((client) => client.socket.connected)).toBe(true);
    await check();
  }, 120_000);
});

/** Deletes the key while rows with numbers in flight are held up, and has everybody read in that state. */
const loseKey = (family: TopicKey): Promise<void> =>
  faults.holdAppends(async () => {
    const key = faults.key(family);
    await until('numbers are in flight', async () => (await faults.inFlight()) > 3);
    await until(`${family} is there to be deleted`, async () => (await faults.redisClient.del(key)) === 1);
    await Promise.all(faults.members.map((member) => member.pull()));
  });

describe('one key of a topic is lost alone, under load and on the then quiet topic', () => {
  beforeEach(() => faults.gather(), 30_000);

  it.each(['topicInflight', 'topicInflightDeadline', 'topicLastSeq', 'topicHot', 'topicHotMeta'] as const)(
    '%s',
    async (family) => {
      faults.startLoad();
      await faults.moreAcks(30);
      const secret = await Secret.send(faults);
      await secret.readHot();
      await secret.recall();
      for (let round = 0; round < 3; round += 1) {
        const epoch = await faults.epoch();
        await loseKey(family);
        await faults.moreAcks(30);
        await secret.expectGone();
        // The hot set is only a copy; every other loss ends the epoch.
        if (!HOT.has(family)) expect(await faults.epoch()).toBeGreaterThan(epoch);
      }
      await faults.stopLoad();
      await faults.redisClient.del(faults.key(family));
      const last = Math.max(...faults.members.flatMap((member) => member.acknowledged.map((ack) => ack.seq)));
      // A new device knows nothing that could stand in for the counter.
      const late = await faults.join(4);
      await until('the new device knows everything', () => late.cursor >= last, 30_000);
      await secret.expectGone();
      await check();
    },
    120_000,
  );

  it('the hot set while a message is recalled: its text does not come back', async () => {
    faults.startLoad(1);
    for (let round = 0; round < (FULL_LENGTH ? 20 : 6); round += 1) {
      const secret = await Secret.send(faults);
      await secret.readHot();
      const reading = { on: true };
      const readers = faults.nodes.map(async () => {
        while (reading.on) await secret.page(0).catch(() => undefined);
      });
      const family = round % 2 === 0 ? 'topicHotMeta' : 'topicHot';
      const harm = async (): Promise<void> => {
        await pause(Math.random() * 8);
        await faults.redisClient.del(faults.key(family));
      };
      await Promise.all([secret.recall(), harm()]);
      await secret.expectGone();
      reading.on = false;
      await Promise.all(readers);
      await secret.expectGone();
    }
    await faults.stopLoad();
    await check();
  }, 120_000);
});

it('Redis is away while many clients talk: every event is answered, no process ends, it recovers by itself', async () => {
  await talkThroughOutage(faults, faults.redis);
}, 240_000);
