import { checkPromise, checkRefusals } from '../support/checker.js';
import { FaultStage } from '../support/fault-stage.js';
import { until } from '../support/until.js';

let faults: FaultStage;

beforeAll(async () => {
  faults = await FaultStage.open();
}, 120_000);
afterAll(() => faults.close());

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const moreAcks = async (count: number): Promise<void> => {
  const before = faults.acknowledged;
  await until(`${count} more sends are acknowledged`, () => faults.acknowledged >= before + count, 40_000);
};

describe('Redis under load', () => {
  beforeEach(() => faults.gather(), 30_000);

  it('killed and started empty: no number twice, nothing acknowledged is lost, sending resumes by itself', async () => {
    faults.startLoad();
    await moreAcks(100);
    for (let round = 0; round < 2; round += 1) {
      await faults.redis.kill();
      await pause(700);
      await faults.redis.start();
      await moreAcks(100);
    }
    await faults.stopLoad();
    checkRefusals(faults.members, 2_000);
    await checkPromise(faults.stage, 'demo', faults.topic, faults.members);
  }, 120_000);

  it('frozen: sends fail soon, reads go on, no connection is dropped, and it recovers by itself', async () => {
    faults.startLoad();
    await moreAcks(100);
    const sockets = await Promise.all(faults.members.map((member) => member.connect()));
    faults.redis.signal('SIGSTOP');
    await until('sends are refused', () => faults.members.every((member) => member.refusals.length > 3), 20_000);
    const page = await sockets[0].history(faults.topic, { afterSeq: 0, limit: 10 });
    expect(page).toMatchObject({ ok: true, source: 'mysql' });
    expect(page.messages).toHaveLength(10);
    faults.redis.signal('SIGCONT');
    await moreAcks(50);
    await faults.stopLoad();
    expect(sockets.every((client) => client.socket.connected)).toBe(true);
    checkRefusals(faults.members, 1_500);
    await checkPromise(faults.stage, 'demo', faults.topic, faults.members);
  }, 120_000);
});
