import { createConnection, type Connection } from 'mysql2';
import { join } from 'node:path';
import { loadScript } from '../../src/platform/redis/redis-scripts.js';
import { checkAnswered, checkPromise, checkRefusals } from '../support/checker.js';
import { databaseAt } from '../support/environment.js';
import { FaultStage, FULL_LENGTH } from '../support/fault-stage.js';
import { pause } from '../support/load.js';
import { until } from '../support/until.js';

/** A number in flight ends its epoch after this; the rest is for a loaded machine. */
const DEADLINE_MS = 10_000;
const SLACK_MS = 10_000;
const LUA = join(__dirname, '..', '..', 'src', 'modules', 'group-message');

let faults: FaultStage;

beforeAll(async () => {
  faults = await FaultStage.open();
}, 120_000);
afterAll(() => faults.close());
beforeEach(() => faults.gather(), 30_000);

const inFlight = (topic = faults.topic): Promise<number> =>
  faults.redisClient.zcard(faults.key('topicInflight', topic));
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
    await until('both are admitted', async () => (await inFlight()) === 1 && (await inFlight(quiet)) === 1);
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
    expect(await inFlight()).toBe(1);
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
});

describe('a node is frozen in the middle of appends', () => {
  const holdTopicRow = async (connection: Connection): Promise<void> => {
    await connection.promise().query('BEGIN');
    await connection.promise().query('SELECT epoch FROM im_topic_seq WHERE topic = ? FOR UPDATE', [faults.topic]);
  };

  it('and goes on later: its late rows are turned away or were counted as in flight', async () => {
    const { host, port, user, password, database } = databaseAt(faults.stage.servers, `${faults.stage.name}_demo`);
    const connection = createConnection({ host, port, user, password, database });
    const epoch = async (): Promise<number> => {
      const [row] = await faults.stage.sql<{ epoch: string }>(
        'demo',
        'SELECT epoch FROM im_topic_seq WHERE topic = ?',
        [faults.topic],
      );
      return Number(row.epoch);
    };
    faults.startLoad();
    await faults.moreAcks(60);
    const before = await epoch();
    // All fences wait for this lock: the node stops with the answer to its fence on the way and its rows not yet sent.
    await holdTopicRow(connection);
    await until('sends pile up', async () => (await inFlight()) >= 12);
    faults.nodes[0].kill('SIGSTOP');
    const frozenAtMs = performance.now();
    await connection.promise().query('ROLLBACK');
    connection.destroy();
    await until('the others end the epoch of the frozen node', async () => (await epoch()) > before, 40_000);
    const others = [faults.members[1], faults.members[3]];
    const acks = others.reduce((sum, member) => sum + member.acknowledged.length, 0);
    const more = (): boolean => others.reduce((sum, member) => sum + member.acknowledged.length, 0) > acks + 20;
    await until('the others send on', more, 40_000);
    if (FULL_LENGTH) await pause(20_000 - (performance.now() - frozenAtMs));
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
