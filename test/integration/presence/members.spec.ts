import { PresenceService } from '../../../src/modules/presence/presence.service.js';
import { asTenantId, asTopic, asUserId } from '../../../src/platform/ids/ids.js';
import type { TestClient } from '../../support/client.js';
import { PresenceRig, stateOf, toldOf, watch } from '../../support/presence.js';
import { Stage, type TestNode, type TestUser } from '../../support/stage.js';
import { until } from '../../support/until.js';

let stage: Stage;
let rig: PresenceRig;
let nodes: TestNode[];
let presence: PresenceService;
let tenantId: string;
let alice: TestUser;
let bob: TestUser;
let carol: TestUser;
let open: TestClient[] = [];

beforeAll(async () => {
  stage = await Stage.open();
  tenantId = await stage.tenant('demo', ['alice', 'bob', 'carol']);
  rig = await PresenceRig.open(stage, tenantId);
  const first = await stage.inProcess();
  nodes = [first, await stage.inProcess()];
  presence = first.application.nest.get(PresenceService, { strict: false });
  [alice, bob, carol] = await Promise.all(
    ['alice', 'bob', 'carol'].map((account) => stage.login(nodes[0], 'demo', account)),
  );
}, 60_000);
afterAll(async () => {
  rig.close();
  await stage.close();
});
afterEach(() => {
  for (const client of open) client.close();
  open = [];
});

const connect = async (at: number, user: TestUser, auth: Record<string, unknown> = {}): Promise<TestClient> => {
  const client = await stage.connect(nodes[at], user, auth);
  open.push(client);
  return client;
};
const count = (topic: string): Promise<number | null> => presence.onlineCount(asTenantId(tenantId), asTopic(topic));
const becomes = (topic: string, wanted: number): Promise<unknown> =>
  until(`${wanted} are online`, async () => (await count(topic)) === wanted);

describe('online members of a topic', () => {
  it('are counted once whatever devices they have, and told with a subscription', async () => {
    const topic = await stage.group(nodes[0], alice, [bob, carol]);
    const first = await connect(0, alice);
    await connect(0, alice);
    await connect(1, alice);
    const bobs = await connect(1, bob, { subscribe: 'manual' });
    await becomes(topic, 1);
    const answer = await bobs.emit('topic:subscribe', { topics: [topic] });
    expect(answer.topics).toMatchObject([{ topic, onlineCount: 2 }]);
    expect(
      await presence.offlineMembers(
        asTenantId(tenantId),
        asTopic(topic),
        [alice, bob, carol].map(({ uid }) => asUserId(uid)),
      ),
    ).toEqual([carol.uid]);
    await bobs.emit('topic:unsubscribe', { topics: [topic] });
    await becomes(topic, 1);
    first.close();
    await becomes(topic, 1);
    for (const client of open) client.close();
    await becomes(topic, 0);
    const left = await Promise.all(
      (await presence.livingNodes()).map((node) => rig.redis.exists(rig.key('topicNodeMembers', { topic, node }))),
    );
    expect(left).toEqual([0, 0]);
    expect(await rig.redis.exists(rig.key('topicNodes', { topic }))).toBe(0);
  }, 30_000);

  it('a kick takes the member out at once, on every node', async () => {
    const topic = await stage.group(nodes[0], alice, [bob]);
    await connect(0, alice);
    await connect(0, bob);
    await connect(1, bob);
    await becomes(topic, 2);
    const path = `/v1/im/groups/${topic}/members/${bob.uid}`;
    expect((await stage.call(nodes[1], 'DELETE', path, { token: alice.accessToken })).status).toBeLessThan(300);
    await becomes(topic, 1);
  }, 30_000);

  it('who is online and who is offline is not known while Redis is so young that not every node has registered', async () => {
    const topic = await stage.group(nodes[0], alice, [bob]);
    await connect(0, alice);
    await becomes(topic, 1);
    await rig.redis.del(rig.key('presenceReady', {}));
    expect(await presence.offlineMembers(asTenantId(tenantId), asTopic(topic), [asUserId(bob.uid)])).toBeNull();
    expect(await count(topic)).toBeNull();
    await rig.ready();
    expect(await presence.offlineMembers(asTenantId(tenantId), asTopic(topic), [asUserId(bob.uid)])).toEqual([bob.uid]);
  }, 30_000);
});

describe('typing', () => {
  it('is told to the others, not to own devices, and not again within a second', async () => {
    const topic = await stage.group(nodes[0], alice, [bob]);
    const [typist, own, other] = [await connect(0, alice), await connect(1, alice), await connect(1, bob)];
    for (let round = 0; round < 5; round += 1) {
      expect(await typist.emit('topic:typing', { topic })).toMatchObject({ ok: true });
    }
    await until('the other one is told', () => other.events('topic:typing').length === 1);
    expect(other.events('topic:typing')).toEqual([{ topic, uid: alice.uid }]);
    expect(await other.emit('topic:typing', { topic })).toMatchObject({ ok: true });
    await until('both devices of the first are told', () =>
      [typist, own].every((client) => client.events('topic:typing').length === 1),
    );
    expect(own.events('topic:typing')).toEqual([{ topic, uid: bob.uid }]);
  }, 30_000);

  it('is refused to strangers, and to one who does nothing else', async () => {
    const topic = await stage.group(nodes[0], alice, [bob]);
    const [typist, stranger] = [await connect(0, alice), await connect(0, carol)];
    expect(await stranger.emit('topic:typing', { topic })).toMatchObject({ error: { code: 'NOT_MEMBER' } });
    const answers = await Promise.all(Array.from({ length: 30 }, () => typist.emit('topic:typing', { topic })));
    const refused = answers.filter((ack) => !ack.ok);
    expect(refused).toHaveLength(10);
    expect(refused[0]).toMatchObject({ error: { code: 'RATE_LIMITED', retryable: true } });
  }, 30_000);

  it('in a private chat is told to the other one, unless one has blocked the other', async () => {
    const [typist, peer] = [await connect(0, alice), await connect(1, bob)];
    const topic = `p2p_${[alice.uid, bob.uid].sort((a, b) => Number(a) - Number(b)).join('_')}`;
    expect(await typist.emit('topic:typing', { topic })).toMatchObject({ ok: true });
    await until('the other one is told', () => peer.events('topic:typing').length === 1);
    expect(peer.events('topic:typing')).toEqual([{ topic, uid: alice.uid }]);
    const stranger = await connect(0, carol);
    expect(await stranger.emit('topic:typing', { topic })).toMatchObject({ error: { code: 'NOT_MEMBER' } });
    const body = { uid: alice.uid };
    await stage.call(nodes[1], 'POST', '/v1/im/relations/blocklist', { token: bob.accessToken, body });
    expect(await typist.emit('topic:typing', { topic })).toMatchObject({ error: { code: 'BLOCKED' } });
    const path = `/v1/im/relations/blocklist/${alice.uid}`;
    await stage.call(nodes[1], 'DELETE', path, { token: bob.accessToken });
  }, 30_000);

  it('is told to nobody while more than 500 are online', async () => {
    const topic = await stage.group(nodes[0], alice, [bob]);
    const [typist, other] = [await connect(0, alice), await connect(1, bob)];
    await becomes(topic, 2);
    await rig.redis.set(rig.key('topicOnlineCount', { topic }), '501', 'PX', 10_000);
    expect(await typist.emit('topic:typing', { topic })).toMatchObject({ ok: true });
    // What is sent after it comes after it: by then it would have come.
    await typist.send(topic, 'after-typing', 'a message');
    await until('the message is heard', () => other.heard(topic).length === 1);
    expect(other.events('topic:typing')).toEqual([]);
  }, 30_000);
});

describe('privacy', () => {
  const relation = (method: string, path: string, body?: object): Promise<unknown> =>
    stage.call(nodes[0], method, `/v1/im/${path}`, { token: alice.accessToken, body });
  const privacy = (settings: object): Promise<unknown> => relation('PATCH', 'users/me', { privacy: settings });

  it('a block hides both from each other, at once and for those who watch; its end shows them again', async () => {
    const [own, watcher] = [await connect(0, alice), await connect(1, bob)];
    expect(await watch(watcher, [alice.uid])).toMatchObject([{ state: 'online' }]);
    await relation('POST', 'relations/blocklist', { uid: bob.uid });
    await until('the watcher is told', () => toldOf(watcher, alice.uid).at(-1) === 'hidden');
    expect(await stateOf(watcher, alice.uid)).toBe('hidden');
    expect(await stateOf(own, bob.uid)).toBe('hidden');
    await relation('DELETE', `relations/blocklist/${bob.uid}`);
    await until('the watcher is told', () => toldOf(watcher, alice.uid).at(-1) === 'online');
    expect(toldOf(watcher, alice.uid)).toEqual(['hidden', 'online']);
  }, 30_000);

  it('the settings of a user decide who sees him, and who sees when he was there', async () => {
    const [own, watcher] = [await connect(0, alice), await connect(1, bob)];
    await privacy({ presence: 'nobody' });
    expect(await watch(watcher, [alice.uid])).toEqual([{ uid: alice.uid, state: 'hidden' }]);
    expect(await stateOf(own, alice.uid)).toBe('online');
    await privacy({ presence: 'everyone', lastSeen: 'nobody' });
    await until('the watcher is told', () => toldOf(watcher, alice.uid).length === 1);
    own.close();
    await until('the watcher is told', () => toldOf(watcher, alice.uid).length === 2, 15_000);
    expect(watcher.events('presence:changed')).toEqual([
      { uid: alice.uid, state: 'online' },
      { uid: alice.uid, state: 'offline' },
    ]);
    await privacy({ lastSeen: 'everyone' });
  }, 40_000);
});

it('operators see every node, what it is and what it holds', async () => {
  await connect(0, alice);
  await connect(1, bob);
  const infos = await presence.describeNodes();
  expect(infos).toHaveLength(2);
  for (const info of infos) {
    expect(info).toMatchObject({
      living: true,
      users: expect.any(Number) as number,
      address: expect.stringMatching(/:\d+$/) as string,
    });
    expect(Date.parse(info.startedAt!)).toBeLessThanOrEqual(Date.now());
    expect(Date.parse(info.leaseEndsAt)).toBeGreaterThan(Date.now());
  }
});
