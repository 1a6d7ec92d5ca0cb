import { PresenceRig, presencesOf, stateOf, toldOf, watch } from '../../support/presence.js';
import { Stage, type TestNode, type TestUser } from '../../support/stage.js';
import { until } from '../../support/until.js';

const ISO = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

let stage: Stage;
let rig: PresenceRig;
let nodes: TestNode[];
let alice: TestUser;
let bob: TestUser;
let carol: TestUser;

beforeAll(async () => {
  stage = await Stage.open();
  rig = await PresenceRig.open(stage, await stage.tenant('demo', ['alice', 'bob', 'carol']));
  nodes = [await stage.inProcess(), await stage.inProcess()];
  [alice, bob, carol] = await Promise.all(
    ['alice', 'bob', 'carol'].map((account) => stage.login(nodes[0], 'demo', account)),
  );
}, 60_000);
afterAll(async () => {
  rig.close();
  await stage.close();
});

const offline = (uid: string): Promise<unknown> =>
  until('he is offline', async () => (await rig.state(uid)).told !== 'online', 15_000);

describe('one user', () => {
  afterEach(() => Promise.all([offline(alice.uid), offline(bob.uid)]));

  it('is online before session:ready, on every node, with what he came with', async () => {
    const watcher = await stage.connect(nodes[1], bob);
    const client = await stage.connect(nodes[0], alice, { device: 'ios' });
    expect(await rig.sessions(alice.uid)).toEqual([client.socket.id]);
    expect(await rig.state(alice.uid)).toMatchObject({
      online: '1',
      session_count: '1',
      device: 'ios',
      node_id: client.ready!.nodeId,
    });
    expect(await presencesOf(watcher, [alice.uid, carol.uid, alice.uid])).toEqual([
      { uid: alice.uid, state: 'online', devices: ['ios'] },
      { uid: carol.uid, state: 'offline' },
    ]);
    const { status, body } = await stage.call(nodes[1], 'GET', `/v1/im/users/presence?uids=${alice.uid},${carol.uid}`, {
      token: bob.accessToken,
    });
    expect([status, body]).toEqual([
      200,
      {
        presences: [
          { uid: alice.uid, state: 'online', devices: ['ios'] },
          { uid: carol.uid, state: 'offline' },
        ],
      },
    ]);
    client.close();
    watcher.close();
  }, 30_000);

  it('is told to watchers on all nodes, once each way, and seen last is kept in MySQL', async () => {
    const watchers = [await stage.connect(nodes[0], bob), await stage.connect(nodes[1], bob)];
    for (const watcher of watchers) expect(await watch(watcher, [alice.uid])).toMatchObject([{ state: 'offline' }]);
    const client = await stage.connect(nodes[1], alice);
    await until('both are told', () => watchers.every((watcher) => toldOf(watcher, alice.uid).length === 1));
    const closedAtMs = Date.now();
    client.close();
    await until('both are told', () => watchers.every((watcher) => toldOf(watcher, alice.uid).length === 2), 15_000);
    expect(Date.now() - closedAtMs).toBeGreaterThan(4_500);
    for (const watcher of watchers) {
      expect(toldOf(watcher, alice.uid)).toEqual(['online', 'offline']);
      expect(watcher.events('presence:changed')[1].lastSeenAt).toMatch(ISO);
    }
    const row = await until('it is written behind', async () => {
      const sql = 'SELECT last_seen_at AS at FROM im_users WHERE id = ?';
      const [found] = await stage.sql<{ at: Date | null }>('demo', sql, [alice.uid]);
      return found.at !== null && Math.abs(found.at.getTime() - closedAtMs) < 3_000 && found.at;
    });
    // Redis forgets; MySQL does not.
    await rig.redis.del(rig.key('presenceUser', { uid: alice.uid }));
    const [presence] = await presencesOf(watchers[0], [alice.uid]);
    expect(presence).toEqual({ uid: alice.uid, state: 'offline', lastSeenAt: row.toISOString() });
    for (const watcher of watchers) watcher.close();
  }, 40_000);

  it('who reloads a page within the grace never flickers, on whichever node he comes back', async () => {
    const watcher = await stage.connect(nodes[0], bob);
    let client = await stage.connect(nodes[0], alice);
    expect(await watch(watcher, [alice.uid])).toMatchObject([{ state: 'online' }]);
    for (let round = 1; round <= 20; round += 1) {
      client.close();
      expect(await stateOf(watcher, alice.uid)).toBe('online');
      client = await stage.connect(nodes[round % 2], alice);
    }
    // Longer than every grace that began meanwhile.
    await pause(6_000);
    expect(toldOf(watcher, alice.uid)).toEqual([]);
    expect(await rig.sessions(alice.uid)).toEqual([client.socket.id]);
    client.close();
    await until('the end is told', () => toldOf(watcher, alice.uid).length === 1, 15_000);
    watcher.close();
  }, 60_000);

  it('with two devices is online until the second one goes', async () => {
    const watcher = await stage.connect(nodes[0], bob);
    const phone = await stage.connect(nodes[0], alice, { device: 'android' });
    const web = await stage.connect(nodes[1], alice, { device: 'web' });
    expect(await watch(watcher, [alice.uid])).toEqual([
      { uid: alice.uid, state: 'online', devices: ['android', 'web'] },
    ]);
    phone.close();
    await until('one is left', async () => (await rig.state(alice.uid)).session_count === '1');
    expect((await rig.state(alice.uid)).device).toBe('web');
    await pause(6_000);
    expect(toldOf(watcher, alice.uid)).toEqual([]);
    web.close();
    await until('the end is told', () => toldOf(watcher, alice.uid)[0] === 'offline', 15_000);
    watcher.close();
  }, 40_000);
});

describe('watching', () => {
  it('ends with unwatch and with the socket', async () => {
    const [first, second] = [await stage.connect(nodes[0], bob), await stage.connect(nodes[0], bob)];
    await watch(first, [carol.uid]);
    await watch(second, [carol.uid]);
    expect(await first.emit('presence:unwatch', { uids: [carol.uid] })).toMatchObject({
      ok: true,
      presences: [{ uid: carol.uid, state: 'offline' }],
    });
    const client = await stage.connect(nodes[1], carol);
    await until('the other one is told', () => toldOf(second, carol.uid).length === 1);
    expect(toldOf(first, carol.uid)).toEqual([]);
    for (const one of [first, second, client]) one.close();
    await until('nobody is watched', async () => {
      const text = await (await fetch(`${nodes[0].url}/metrics`)).text();
      return /^im_presence_watched_users 0$/m.test(text);
    });
    await offline(carol.uid);
  }, 30_000);

  it('is bounded, and refuses what is no list of ids', async () => {
    const client = await stage.connect(nodes[0], bob);
    for (let first = 0; first < 1_000; first += 200) {
      await watch(
        client,
        Array.from({ length: 200 }, (_, index) => String(1_000 + first + index)),
      );
    }
    for (const uids of [['5000'], [], ['x'], 'all', [1]]) {
      expect(await client.emit('presence:watch', { uids })).toMatchObject({
        ok: false,
        error: { code: 'VALIDATION_FAILED' },
      });
    }
    client.close();
  }, 30_000);
});
