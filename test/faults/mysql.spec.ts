import { createConnection, type RowDataPacket } from 'mysql2';
import { checkAnswered, checkPromise, checkRefusals } from '../support/checker.js';
import { databaseAt } from '../support/environment.js';
import { FaultStage, FULL_LENGTH } from '../support/fault-stage.js';
import { pause } from '../support/load.js';
import { until } from '../support/until.js';
import { talkThroughOutage } from './talkers.js';

const FREEZE_MS = FULL_LENGTH ? 30_000 : 8_000;
/** More than a node takes in for one tenant. */
const BURST = 6_000;
/** Sends of one tenant that a node takes in at a time. */
const MAX_SENDS = 5_000;
const MAX_GROWTH_BYTES = 400 * 1024 * 1024;

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

describe('MySQL under load', () => {
  beforeEach(() => faults.gather(), 30_000);

  it('killed and started again: sends are refused retryably, nothing acknowledged is lost, it recovers by itself', async () => {
    faults.startLoad();
    await faults.moreAcks(60);
    for (let round = 0; round < 2; round += 1) {
      const refused = faults.members.map((member) => member.refusals.length);
      await faults.mysql.kill();
      const all = (): boolean => faults.members.every((member, index) => member.refusals.length > refused[index]);
      await until('everybody is refused', all, 30_000);
      await faults.mysql.start();
      await faults.everyoneSends();
      await faults.moreAcks(60);
    }
    await faults.stopLoad();
    await check(8_000);
  }, 150_000);

  it('connections are killed while INSERTs run: unknown outcomes are resolved right', async () => {
    const database = `${faults.stage.name}_demo`;
    const { host, port, user, password } = databaseAt(faults.stage.servers, database);
    const killer = createConnection({ host, port, user, password }).promise();
    faults.startLoad(8);
    await faults.moreAcks(60);
    let kills = 0;
    const wanted = FULL_LENGTH ? 300 : 25;
    await until(
      `${wanted} connections are killed in an INSERT`,
      async () => {
        const [rows] = await killer.query<RowDataPacket[]>(
          `SELECT ID AS id FROM information_schema.PROCESSLIST
         WHERE DB = ? AND (INFO LIKE 'INSERT INTO im_group_messages%' OR INFO LIKE 'COMMIT%')`,
          [database],
        );
        for (const { id } of rows) {
          kills += await killer.query(`KILL ${Number(id)}`).then(
            () => 1,
            () => 0,
          );
        }
        return kills >= wanted;
      },
      120_000,
    );
    killer.destroy();
    await faults.everyoneSends();
    await faults.stopLoad();
    const resolved = await Promise.all(faults.nodes.map((node) => faults.metric(node, 'im_tombstones_total')));
    expect(resolved[0] + resolved[1]).toBeGreaterThan(0);
    await check(12_000);
  }, 200_000);

  it('frozen: every caller is answered, queue and memory stay bounded, it recovers by itself', async () => {
    const memory = (index: number): Promise<number> =>
      faults.metric(faults.nodes[index], 'process_resident_memory_bytes');
    const before = await Promise.all([memory(0), memory(1)]);
    const peak = [...before];
    let queued = 0;
    // Longer than the freeze: whoever is not answered then was forgotten.
    for (const member of faults.members) {
      member.callTimeoutMs = FREEZE_MS + 90_000;
      member.retryWithinMs = 5_000;
    }
    // A counter that is in doubt could not be rebased then, and nothing would reach the queue.
    await faults.members[0].send(faults.nextId(), 'before the freeze');
    faults.mysql.signal('SIGSTOP');
    const frozenAtMs = performance.now();
    const burst = Array.from({ length: BURST }, (_, index) => {
      // All through the first node, so that its bound is reached.
      const sender = faults.members[(index % 2) * 2];
      return sender.send(faults.nextId(), `burst ${index} ${'x'.repeat(500)}`);
    });
    while (performance.now() - frozenAtMs < FREEZE_MS) {
      await pause(250);
      for (const index of [0, 1]) peak[index] = Math.max(peak[index], await memory(index));
      queued = Math.max(queued, await faults.metric(faults.nodes[0], 'im_append_queue_rows'));
    }
    faults.mysql.signal('SIGCONT');
    await Promise.all(burst);
    const codes = new Set(faults.members.flatMap((member) => member.refusals.map((refusal) => refusal.code)));
    expect(codes).toContain('OVERLOADED');
    expect(queued).toBeLessThanOrEqual(MAX_SENDS);
    for (const index of [0, 1]) expect(peak[index] - before[index]).toBeLessThan(MAX_GROWTH_BYTES);
    await check(FREEZE_MS + 30_000);
  }, 240_000);
});

it('MySQL is away while many clients talk: every event is answered, no process ends, it recovers by itself', async () => {
  await talkThroughOutage(faults, faults.mysql);
}, 240_000);
