import { checkAnswered, checkPromise, checkRefusals } from '../support/checker.js';
import { FaultStage } from '../support/fault-stage.js';
import { NodeProcess } from '../support/nodes.js';
import { until } from '../support/until.js';
import { RedisKeys } from '../../src/platform/redis/keys.js';
import { RawSocket } from '../integration/house/raw-socket.js';

let faults: FaultStage;
const nodesKey = (): string => new RedisKeys({ REDIS_KEY_PREFIX: faults.stage.name }).of('nodes', {});

beforeAll(async () => {
  faults = await FaultStage.open();
}, 120_000);
afterAll(() => faults.close());
beforeEach(() => faults.gather(), 30_000);
afterEach(async () => {
  if (!faults.nodes[0].running) await faults.nodes[0].start();
}, 60_000);

it('SIGTERM under load: clients are told to move, what is in flight is answered, nothing is lost, exit 0 within 30 s', async () => {
  const listener = await faults.stage.connect(faults.nodes[0], faults.users[3]);
  // It reads nothing, not even that it has to go.
  const deaf = await RawSocket.open(faults.nodes[0].url);
  await deaf.join(faults.users[3].accessToken);
  deaf.pause();
  faults.startLoad();
  await faults.moreAcks(60);
  const began = performance.now();
  faults.nodes[0].kill('SIGTERM');
  faults.nodes[0].kill('SIGTERM');
  await until('it is not ready', async () => (await faults.nodes[0].readiness()) !== 200, 10_000);
  expect(await faults.nodes[0].ended()).toBe(0);
  expect(performance.now() - began).toBeLessThan(30_000);
  const [closing] = listener.events('session:closing') as { reason: string; reconnectAfterMs: number }[];
  expect(closing.reason).toBe('draining');
  expect(closing.reconnectAfterMs).toBeGreaterThanOrEqual(0);
  expect(closing.reconnectAfterMs).toBeLessThanOrEqual(3_000);
  deaf.destroy();
  await faults.everyoneSends();
  await faults.stopLoad();
  checkRefusals(faults.members, 8_000);
  checkAnswered(faults.members);
  await checkPromise(faults.stage, 'demo', faults.topic, faults.members);
  expect(faults.nodes[0].log).not.toMatch(/uncaught|unhandled/i);
}, 150_000);

it.each([
  // Before its own code runs, the signal ends it as it ends any process.
  ['when its process begins', () => true, [0, 'SIGTERM']],
  ['while it connects to Redis', (log: string) => log.includes('redis connection is ready'), [0]],
  ['the moment it is ready', (log: string) => log.includes('the node is ready'), [0]],
])(
  'SIGTERM, twice, %s: it ends by itself in time and leaves nothing behind',
  async (_moment, isReached, codes) => {
    const node = await NodeProcess.idle({ ...faults.stage.environment, LOG_LEVEL: 'info' });
    const nodesBefore = await faults.redisClient.zcard(nodesKey());
    node.launch();
    await until('that moment', () => isReached(node.log), 60_000);
    node.kill('SIGTERM');
    node.kill('SIGTERM');
    const began = performance.now();
    expect(codes).toContain(await node.ended());
    expect(performance.now() - began).toBeLessThan(30_000);
    expect(node.log).not.toMatch(/could not start|uncaught|unhandled/i);
    expect(await node.readiness()).toBeNull();
    await until('no lease is left', async () => (await faults.redisClient.zcard(nodesKey())) <= nodesBefore, 30_000);
  },
  120_000,
);
