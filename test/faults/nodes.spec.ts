import { join } from 'node:path';
import { loadScript } from '../../src/platform/redis/redis-scripts.js';
import { checkAnswered, checkPromise, checkRefusals } from '../support/checker.js';
import { FaultStage, FULL_LENGTH } from '../support/fault-stage.js';
import { pause } from '../support/load.js';
import { until } from '../support/until.js';
import { Secret } from './secret.js';

/** A number in flight ends its epoch after this; the rest is for a loaded machine. */
const DEADLINE_MS = 10_000;
const SLACK_MS = 10_000;
const LUA = join(__dirname, '..', '..', 'src', 'modules', 'group-message');

let faults: FaultStage;

beforeAll(async () => {
  faults = await FaultStage.open({ HOT_MIN_MEMBERS: '1' });
}, 120_000);
afterAll(() => faults.close());
beforeEach(() => faults.gather(), 30_000);

const lastSeq = async (topic: string): Promise<number> =>
  Number(await faults.redisClient.hget(faults.key('topicLastSeq', topic), 'seq'));
const restart = async (): Promise<void> => {
  await faults.nodes[0].ended();
  await faults.nodes[0].start();
};

describe('a node is killed', () => {
  afterEach(restart, 60_000);

  it('between admit and append: the retry on the other node succeeds, no cursor is stuck, also when nobody sends', async () => {
    const [sender] = faults.members;
    await sender.send(faults.nextId(), 'warms up');
    // In a second group nobody repeats the send.
    const quiet = await faults.stage.group(faults.nodes[1], faults.users[0], faults.users.slice(1), 'quiet');
    const [mute, reader] = [await faults.join(0, quiet), await faults.join(1, quiet)];
    await reader.send(faults.nextId(), 'warms up');
    await until('the reader knows it', () => reader.cursor === 1);
    faults.mysql.signal('SIGSTOP');
    const sending = sender.send(faults.nextId(), 'admitted, never appended by its first node');
    void mute.send(faults.nextId(), 'admitted, never appended');
    await until(
      'both are admitted',
      async () => (await faults.inFlight()) === 1 && (await faults.inFlight(quiet)) === 1,
    );
    const admittedAtMs = performance.now();
    const given = await lastSeq(quiet);
    mute.stop();
    faults.nodes[0].kill('SIGKILL');
    faults.mysql.signal('SIGCONT');
    await sending;
    expect(performance.now() - admittedAtMs).toBeLessThan(DEADLINE_MS + SLACK_MS);
    expect(given).toBe(2);
    await until(`the reader's cursor passes ${given}, it is at ${reader.cursor}`, () => reader.cursor >= given, 30_000);
    checkRefusals(faults.members, 8_000);
    await checkPromise(faults.stage, 'demo', faults.topic, faults.members);
    await checkPromise(faults.stage, 'demo', quiet, [reader]);
  }, 90_000);

  it('between append and settle: the retry answers the stored number at once, as a duplicate', async () => {
    const [sender] = faults.members;
    await sender.send(faults.nextId(), 'warms up');
    const settle = loadScript(LUA, 'settle');
    const stalled = faults.wire.stallAt([settle.sha, '-- Settle: ']);
    const id = faults.nextId();
    const sending = sender.send(id, 'appended, never settled');
    await stalled;
    const [row] = await faults.stage.sql<{ seqid: string; id: string }>(
      'demo',
      'SELECT seqid, id FROM im_group_messages WHERE topic = ? AND client_msg_id = ?',
      [faults.topic, id],
    );
    expect(await faults.inFlight()).toBe(1);
    faults.nodes[0].kill('SIGKILL');
    const killedAtMs = performance.now();
    faults.wire.restore();
    await sending;
    expect(performance.now() - killedAtMs).toBeLessThan(5_000);
    const seq = Number(row.seqid);
    expect(sender.acknowledged.at(-1)).toMatchObject({ clientMsgId: id, seq, messageId: row.id, duplicate: true });
    expect(sender.refusals).toEqual([]);
    // The dead node's number is still in flight; its deadline lets the cursors pass, though nobody sends.
    await checkPromise(faults.stage, 'demo', faults.topic, faults.members);
  }, 90_000);

  it('between the commit of a recall and the return of its copy: the text is not served, nor filled in meanwhile', async () => {
    const secret = await Secret.send(faults);
    await secret.readHot();
    const close = loadScript(LUA, 'hot_close');
    const stalled = faults.wire.stallAt([close.sha, '-- Hot, close: ']);
    await faults.holdMessage(secret.seq, async () => {
      void secret.recall(0).catch(() => undefined);
      await until('the change is open', async () => (await secret.page(1)).source === 'mysql');
      // A copy of the old text must not come back now.
      for (let read = 0; read < 5; read += 1) await secret.page(1);
    });
    await stalled;
    faults.nodes[0].kill('SIGKILL');
    faults.wire.restore();
    for (let read = 0; read < 5; read += 1) await secret.expectGone([1]);
  }, 90_000);
});

describe('a node is frozen in the middle of appends', () => {
  /** Freezes the first node while its rows wait for their fence, for `waitMs` before the fence is free again. */
  const freeze = async (waitMs: number): Promise<number> => {
    await faults.holdAppends(async () => {
      await until('sends pile up', async () => (await faults.inFlight()) >= 12);
      faults.nodes[0].kill('SIGSTOP');
      await pause(waitMs);
    });
    return performance.now();
  };

  const othersGoOn = async (epochBefore: number): Promise<void> => {
    await until(
      'the others end the epoch of the frozen node',
      async () => (await faults.epoch()) > epochBefore,
      40_000,
    );
    const others = [faults.members[1], faults.members[3]];
    const acks = (): number => others.reduce((sum, member) => sum + member.acknowledged.length, 0);
    const before = acks();
    await until('the others send on', () => acks() > before + 20, 40_000);
  };

  const thawAndCheck = async (frozenAtMs: number): Promise<void> => {
    faults.nodes[0].kill('SIGCONT');
    const thawedAtMs = performance.now();
    await faults.everyoneSends();
    await faults.moreAcks(60);
    await faults.stopLoad();
    const late = faults.members
      .flatMap((member) => member.acknowledged)
      .filter((ack) => ack.sentAtMs < frozenAtMs && ack.ackedAtMs > thawedAtMs);
    expect(late.length).toBeGreaterThan(0);
    checkRefusals(faults.members, 60_000);
    await checkPromise(faults.stage, 'demo', faults.topic, faults.members);
  };

  it('until its locks and its lease are over: its late rows are turned away', async () => {
    faults.startLoad();
    await faults.moreAcks(60);
    const epoch = await faults.epoch();
    // The answer to its fence is on the way and its rows are not yet sent; its session keeps the lock.
    const frozenAtMs = await freeze(0);
    await othersGoOn(epoch);
    if (FULL_LENGTH) await pause(20_000 - (performance.now() - frozenAtMs));
    await thawAndCheck(frozenAtMs);
  }, 150_000);

  it('only until its epoch is over, its connections still sound: the fence turns its rows away', async () => {
    faults.startLoad();
    await faults.moreAcks(60);
    const epoch = await faults.epoch();
    // Longer than a lock wait: the frozen session holds nothing.
    const frozenAtMs = await freeze(2_000);
    // The new epoch goes on above the numbers in flight: nothing but the fence keeps them from being filled later.
    await faults.redisClient.del(faults.key('topicInflight'));
    await othersGoOn(epoch);
    await thawAndCheck(frozenAtMs);
  }, 150_000);
});

describe('client sockets are cut at random in the middle of sends', () => {
  it('after the reconnect every message is there once and in order', async () => {
    faults.startLoad();
    await faults.moreAcks(40);
    const rounds = FULL_LENGTH ? 300 : 60;
    for (let round = 0; round < rounds; round += 1) {
      await pause(Math.random() * 100);
      faults.members[Math.floor(Math.random() * faults.members.length)].dropConnection();
    }
    await faults.everyoneSends();
    await faults.stopLoad();
    expect(faults.members.reduce((sum, member) => sum + member.connections, 0)).toBeGreaterThan(rounds / 3);
    checkRefusals(faults.members, 8_000);
    checkAnswered(faults.members);
    await checkPromise(faults.stage, 'demo', faults.topic, faults.members);
  }, 120_000);
});
