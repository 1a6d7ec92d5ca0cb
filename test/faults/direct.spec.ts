import { createConnection, type RowDataPacket } from 'mysql2';
import { checkAnswered, checkPromise, checkRefusals } from '../support/checker.js';
import { databaseAt } from '../support/environment.js';
import { FaultStage } from '../support/fault-stage.js';
import { until } from '../support/until.js';

let faults: FaultStage;

beforeAll(async () => {
  faults = await FaultStage.open();
}, 120_000);
afterAll(() => faults.close());

const check = async (refusedWithinMs: number): Promise<void> => {
  checkRefusals(faults.members, refusedWithinMs);
  checkAnswered(faults.members);
  await checkPromise(faults.stage, 'demo', faults.topic, faults.members);
};
const refusals = (): number => faults.members.reduce((sum, member) => sum + member.refusals.length, 0);

describe('a private chat under load', () => {
  beforeEach(() => faults.gatherDirect(), 30_000);

  it('Redis killed, away and back empty: sending and reading go on, nothing is refused or lost', async () => {
    faults.startLoad();
    await faults.moreAcks(100);
    await faults.redis.kill();
    await faults.moreAcks(100);
    await faults.everyoneSends();
    expect(refusals()).toBe(0);
    await faults.redis.start();
    await faults.moreAcks(100);
    await faults.stopLoad();
    expect(refusals()).toBe(0);
    await check(0);
    // Frames between the nodes come again by themselves.
    const [first, second] = await Promise.all(faults.members.slice(0, 2).map((member) => member.connect()));
    await until('a frame of the other node', async () => {
      const heard = second.heard(faults.topic).length;
      await first.send(faults.topic, faults.nextId(), 'are you there');
      await new Promise((resolve) => setTimeout(resolve, 200));
      return second.heard(faults.topic).length > heard;
    });
  }, 120_000);

  it('Redis frozen: sends go on within their time, and no connection is dropped', async () => {
    faults.startLoad(2);
    await faults.moreAcks(50);
    const connections = faults.members.map((member) => member.connections);
    faults.redis.signal('SIGSTOP');
    try {
      await faults.everyoneSends();
      await faults.moreAcks(50);
    } finally {
      faults.redis.signal('SIGCONT');
    }
    await faults.stopLoad();
    expect(refusals()).toBe(0);
    expect(faults.members.map((member) => member.connections)).toEqual(connections);
    await check(0);
  }, 120_000);

  it('MySQL killed and started again: refused retryably, nothing acknowledged is lost, it recovers by itself', async () => {
    faults.startLoad();
    await faults.moreAcks(60);
    const before = faults.members.map((member) => member.refusals.length);
    await faults.mysql.kill();
    const all = (): boolean => faults.members.every((member, index) => member.refusals.length > before[index]);
    await until('everybody is refused', all, 30_000);
    await faults.mysql.start();
    await faults.everyoneSends();
    await faults.moreAcks(60);
    await faults.stopLoad();
    await check(8_000);
  }, 150_000);

  it('connections killed while they store: open outcomes are settled right, and told', async () => {
    const database = `${faults.stage.name}_demo`;
    const { host, port, user, password } = databaseAt(faults.stage.servers, database);
    const killer = createConnection({ host, port, user, password }).promise();
    faults.startLoad(8);
    await faults.moreAcks(60);
    let kills = 0;
    await until(
      '20 connections are killed while they store',
      async () => {
        const [rows] = await killer.query<RowDataPacket[]>(
          `SELECT ID AS id FROM information_schema.PROCESSLIST
           WHERE DB = ? AND (INFO LIKE 'INSERT INTO im_messages%' OR INFO LIKE 'COMMIT%')`,
          [database],
        );
        for (const { id } of rows) {
          await killer.query('KILL ?', [Number(id)]).then(
            () => (kills += 1),
            () => undefined,
          );
        }
        return kills >= 20;
      },
      60_000,
    );
    await faults.moreAcks(60);
    await faults.stopLoad();
    killer.destroy();
    await check(8_000);
  }, 150_000);

  it('a node frozen while it stores: its chat goes on within seconds, and it comes back', async () => {
    faults.startLoad();
    await faults.moreAcks(60);
    const [alive, frozen] = faults.nodes;
    faults.nodes = [alive];
    frozen.kill('SIGSTOP');
    try {
      const connected = faults.members.filter((_, index) => index % 2 === 0);
      const before = connected.map((member) => member.acknowledged.length);
      const all = (): boolean => connected.every((member, index) => member.acknowledged.length > before[index] + 5);
      await until('those on the other node go on', all, 30_000);
    } finally {
      frozen.kill('SIGCONT');
    }
    faults.nodes = [alive, frozen];
    await faults.everyoneSends();
    await faults.stopLoad();
    checkRefusals(faults.members, 8_000);
    await checkPromise(faults.stage, 'demo', faults.topic, faults.members);
  }, 150_000);

  it('a node killed: the other one goes on, and whoever was on it loses nothing', async () => {
    faults.startLoad();
    await faults.moreAcks(100);
    const [, lost] = faults.nodes;
    lost.kill('SIGKILL');
    faults.nodes = [faults.nodes[0]];
    await faults.everyoneSends();
    await faults.moreAcks(100);
    await faults.stopLoad();
    // What was under way on the dead node has no answer, whatever its socket still believes.
    checkRefusals(faults.members, 8_000);
    await checkPromise(faults.stage, 'demo', faults.topic, faults.members);
  }, 120_000);
});
