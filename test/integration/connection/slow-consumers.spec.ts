import { Metrics } from '../../../src/platform/observe/metrics.js';
import { asTenantId, asTopic } from '../../../src/platform/ids/ids.js';
import { topicRoom } from '../../../src/platform/socket/rooms.js';
import { SocketServer } from '../../../src/platform/socket/socket-server.js';
import type { Application } from '../../../src/application.js';
import type { TestClient } from '../../support/client.js';
import { Stage, type TestNode, type TestUser } from '../../support/stage.js';
import { until } from '../../support/until.js';
import { RawSocket } from '../house/raw-socket.js';

/** `FAULTS_FULL=1` makes it the thousand; the kernel keeps up to 3 MiB for each. */
const STALLED = process.env.FAULTS_FULL === '1' ? 1_000 : 40;
const FRAME_TEXT = 'x'.repeat(60_000);
/** More than any kernel keeps for a connection. */
const FRAMES_AT_MOST = 400;
const MIB = 1024 * 1024;

let stage: Stage;
let node: TestNode & { readonly application: Application };
let alice: TestUser;
let bob: TestUser;
let topic: string;
let room: string;
let healthy: TestClient;
let raws: RawSocket[];
let told = 0;

beforeAll(async () => {
  stage = await Stage.open();
  const tenant = await stage.tenant('acme', ['alice', 'bob']);
  node = await stage.inProcess();
  alice = await stage.login(node, 'acme', 'alice');
  bob = await stage.login(node, 'acme', 'bob');
  topic = await stage.group(node, alice, [bob]);
  room = topicRoom(asTenantId(tenant), asTopic(topic));
  healthy = await stage.connect(node, bob);
}, 60_000);
afterAll(() => stage.close());
beforeEach(() => {
  raws = [];
});
afterEach(() => raws.forEach((raw) => raw.destroy()));

const open = async (): Promise<RawSocket> => {
  const raw = await RawSocket.open(node.url);
  raws.push(raw);
  await raw.join(alice.accessToken);
  return raw;
};

/** Large frames to the group, by the product's own emitter: how they come about does not matter here. */
const tell = async (): Promise<void> => {
  told += 1;
  node.application.nest.get(SocketServer).emit(room, 'topic:resync', { topics: [`${told} ${FRAME_TEXT}`] });
  await until('a healthy member has it', () => healthy.events('topic:resync').length >= told);
};

const slow = async (result: string): Promise<number> => {
  const metric = node.application.nest.get(Metrics).registry.getSingleMetric('im_slow_consumers_total')!;
  const { values } = await metric.get();
  return values.find(({ labels }) => labels.result === result)?.value ?? 0;
};

const heapMib = (): number => {
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / MIB;
};

const has = (raw: RawSocket, text: string): boolean => raw.packets.some((packet) => packet.includes(text));

it('members who stop reading cost bounded memory and hold nobody up; whoever reads on is told to ask', async () => {
  const before = { behind: await slow('behind'), caughtUp: await slow('caught_up'), heap: heapMib() };
  for (let opened = 0; opened < STALLED; opened += 1) (await open()).pause();
  let frames = 0;
  for (; (await slow('behind')) < before.behind + STALLED && frames < FRAMES_AT_MOST; frames += 1) await tell();
  expect(await slow('behind')).toBe(before.behind + STALLED);
  // From now on nothing is kept for them: as many frames again change nothing.
  const behind = heapMib();
  for (let more = 0; more < 100; more += 1) await tell();
  expect(heapMib() - behind).toBeLessThan(100);
  // Frames are shared by all for whom they wait, so this is far below 256 KiB for each.
  expect(heapMib() - before.heap).toBeLessThan(100 + STALLED / 4);
  const [first] = raws;
  for (const raw of raws) raw.resume();
  await until('all are told to ask', async () => (await slow('caught_up')) === before.caughtUp + STALLED, 30_000);
  await until('it has it', () => has(first, '42/im,["topic:resync",{}]'));
  const got = first.packets.filter((packet) => packet.includes(FRAME_TEXT)).length;
  expect(got).toBeGreaterThan(0);
  expect(got).toBeLessThan(frames + 100);
  expect(await first.settled()).toBe('answers');
}, 240_000);

it('a member who does not read on is closed after a while; others are not', async () => {
  const raw = await open();
  raw.pause();
  const before = { behind: await slow('behind'), closed: await slow('closed') };
  for (let frames = 0; (await slow('behind')) === before.behind && frames < FRAMES_AT_MOST; frames += 1) await tell();
  await until('it is closed', async () => (await slow('closed')) === before.closed + 1, 45_000);
  const { namespace } = node.application.nest.get(SocketServer);
  await until('nothing of it is left', () => namespace.sockets.size === 1, 20_000);
  expect(healthy.socket.connected).toBe(true);
}, 120_000);

it('a client who asks on and on and reads no answer is closed, and told why if he reads at last', async () => {
  const raw = await open();
  const closed = await slow('closed');
  raw.pause();
  const event = `42/im,1["topic:subscribe",{"topics":${JSON.stringify(Array.from({ length: 200 }, (_, at) => `grp_${9000 + at}`))}}]`;
  const asking = setInterval(() => {
    for (let at = 0; at < 20; at += 1) raw.text(event);
  }, 5);
  try {
    await until('it is closed', async () => (await slow('closed')) > closed, 60_000);
  } finally {
    clearInterval(asking);
  }
  raw.resume();
  // A machine that is too slow to read what waits before the connection is cut hears no reason.
  await until('it is told why, or cut', () => has(raw, '"reason":"slow_consumer"') || raw.closed, 30_000);
  expect(healthy.socket.connected).toBe(true);
}, 120_000);
