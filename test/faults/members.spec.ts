import { topicRoom } from '../../src/platform/socket/rooms.js';
import { asTenantId, asTopic } from '../../src/platform/ids/ids.js';
import { FaultStage } from '../support/fault-stage.js';
import { until } from '../support/until.js';

/** Of a node's lease. */
const LEASE_MS = 15_000;
/** What is due within the lease and 5 s; the rest is for a loaded machine. */
const SLACK_MS = 10_000;

let faults: FaultStage;

beforeAll(async () => {
  faults = await FaultStage.open();
}, 120_000);
afterAll(() => faults?.close(), 60_000);

it('a node dies between ack and publish, and the topic is quiet then: members on the other node have the message in time', async () => {
  const [alice, bob] = faults.users;
  const topic = await faults.stage.group(faults.nodes[1], alice, [bob]);
  const sender = await faults.stage.connect(faults.nodes[0], alice);
  const reader = await faults.stage.connect(faults.nodes[1], bob);
  expect(await sender.send(topic, 'before', 'is heard')).toMatchObject({ ok: true });
  await until('the first one is heard', () => reader.heard(topic).length === 1);
  const asked = reader.events('topic:resync').length;
  // The node can tell nobody any more; what it says to MySQL and to its client does not pass here.
  const stalled = faults.wire.stallAt([`#${topicRoom(asTenantId(faults.tenant), asTopic(topic))}#`]);
  const ack = await sender.send(topic, 'acknowledged', 'and then the node dies');
  expect(ack).toMatchObject({ ok: true, seq: 2 });
  await stalled;
  faults.nodes[0].kill('SIGKILL');
  const killedAtMs = performance.now();
  faults.wire.restore();
  await until('the reader is told to ask', () => reader.events('topic:resync').length > asked, 60_000);
  const page = await reader.history(topic, { afterSeq: 1 });
  expect(performance.now() - killedAtMs).toBeLessThan(LEASE_MS + 5_000 + SLACK_MS);
  expect(page.messages.map(({ clientMsgId }) => clientMsgId)).toEqual(['acknowledged']);
  expect(reader.heard(topic)).toHaveLength(1);
  await faults.nodes[0].ended();
  await faults.nodes[0].start();
}, 120_000);

it('a member is kicked while his node hangs: acknowledged when its lease is over, and he hears nothing after that', async () => {
  const [alice, bob, carol] = faults.users;
  const topic = await faults.stage.group(faults.nodes[1], alice, [bob, carol]);
  const owner = await faults.stage.connect(faults.nodes[1], alice);
  const kicked = await faults.stage.connect(faults.nodes[0], bob);
  const stays = await faults.stage.connect(faults.nodes[0], carol);
  await owner.send(topic, 'before', 'all hear it');
  await until('all hear it', () => [kicked, stays].every((client) => client.heard(topic).length === 1));

  faults.nodes[0].kill('SIGSTOP');
  const path = `/v1/im/groups/${topic}/members/${bob.uid}`;
  const frozenAtMs = performance.now();
  const { status } = await faults.stage.call(faults.nodes[1], 'DELETE', path, { token: alice.accessToken });
  expect(status).toBeLessThan(300);
  const tookMs = performance.now() - frozenAtMs;
  // It waited for the node: until then he could have heard.
  expect(tookMs).toBeGreaterThan(5_000);
  expect(tookMs).toBeLessThan(LEASE_MS + 5_000 + SLACK_MS);
  for (const id of ['after-1', 'after-2'])
    expect(await owner.send(topic, id, 'not for him')).toMatchObject({ ok: true });
  faults.nodes[0].kill('SIGCONT');

  await until('the node is ready again', async () => (await faults.nodes[0].readiness()) === 200, 30_000);
  if (stays.socket.connected) {
    await until('the other member is told to ask', () => stays.events('topic:resync').length > 0, 30_000);
  }
  expect(await owner.send(topic, 'after-3', 'not for him')).toMatchObject({ ok: true });
  if (stays.socket.connected) {
    await until('the other one hears on', () =>
      stays.heard(topic).some(({ clientMsgId }) => clientMsgId === 'after-3'),
    );
  }
  expect(kicked.heard(topic).map(({ clientMsgId }) => clientMsgId)).toEqual(['before']);
  if (kicked.socket.connected) {
    expect(await kicked.history(topic, { afterSeq: 0 })).toMatchObject({ ok: false, error: { code: 'NOT_MEMBER' } });
  }
}, 120_000);
