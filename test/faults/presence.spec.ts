import type { TestClient } from '../support/client.js';
import { crowd } from '../support/crowd.js';
import { FaultStage, FULL_LENGTH } from '../support/fault-stage.js';
import { pause } from '../support/load.js';
import { presencesOf, PresenceRig, stateOf, toldOf, watch } from '../support/presence.js';
import type { TestUser } from '../support/stage.js';
import { until } from '../support/until.js';

const CROWD = FULL_LENGTH ? 500 : 200;
/** Of the crowd, so many have a second device on the node that lives on. */
const DOUBLE = 40;
const TOLD_WITHIN_MS = 25_000;
const AT_ONCE = 20;

let faults: FaultStage;
let rig: PresenceRig;
let users: TestUser[];
let watcher: TestClient;

beforeAll(async () => {
  faults = await FaultStage.open();
  rig = await PresenceRig.open(faults.stage, faults.tenant);
  users = await crowd(faults.stage, 'demo', faults.tenant, CROWD);
  watcher = await faults.stage.connect(faults.nodes[1], faults.users[0]);
}, 180_000);
afterAll(async () => {
  rig?.close();
  await faults?.close();
}, 60_000);

async function connectAll(all: readonly TestUser[], node: number): Promise<TestClient[]> {
  const clients: TestClient[] = [];
  for (let first = 0; first < all.length; first += AT_ONCE) {
    const part = all.slice(first, first + AT_ONCE);
    clients.push(...(await Promise.all(part.map((user) => faults.stage.connect(faults.nodes[node], user)))));
  }
  return clients;
}

async function watchAll(all: readonly TestUser[]): Promise<string[]> {
  const states: string[] = [];
  for (let first = 0; first < all.length; first += 200) {
    const uids = all.slice(first, first + 200).map(({ uid }) => uid);
    states.push(...(await watch(watcher, uids)).map(({ state }) => state));
  }
  return states;
}

const eachIs = (states: readonly string[], wanted: string): boolean => states.every((state) => state === wanted);
const told = (all: readonly TestUser[]): string[] => all.map(({ uid }) => toldOf(watcher, uid).join());

it('a node dies with many users: all are offline and their watchers told in time; who has another device never flickers', async () => {
  const [owner, ...rest] = users.slice(0, 30);
  const topic = await faults.stage.group(faults.nodes[1], owner, rest);
  await connectAll(users, 0);
  const second = await connectAll(users.slice(0, DOUBLE), 1);
  expect(eachIs(await watchAll(users), 'online')).toBe(true);
  const onlineCount = async (): Promise<number> => {
    const answer = await second[0].emit('topic:subscribe', { topics: [topic] });
    return (answer.topics as { onlineCount: number }[])[0].onlineCount;
  };
  expect(await onlineCount()).toBe(30);
  // This member's other device goes: he is a member on the node that dies alone.
  second[29].close();
  const gone = users.slice(DOUBLE);

  faults.nodes[0].kill('SIGKILL');
  const killedAtMs = performance.now();
  await until('everybody is told offline', () => told(gone).every((changes) => changes === 'offline'), 60_000);
  expect(performance.now() - killedAtMs).toBeLessThan(TOLD_WITHIN_MS);
  await until('the one without a second device as well', () => told([users[29]])[0] === 'offline', 10_000);
  const others = users.slice(0, DOUBLE).filter((_, index) => index !== 29);
  expect(told(others).filter((changes) => changes !== '')).toEqual([]);
  expect(await onlineCount()).toBe(29);
  const present = await presencesOf(
    watcher,
    users.slice(0, 200).map(({ uid }) => uid),
  );
  expect(present.filter(({ state }) => state === 'online')).toHaveLength(DOUBLE - 1);
  expect(await faults.metric(faults.nodes[1], 'im_presence_expired_total')).toBeGreaterThanOrEqual(gone.length);
  await until('seen last is kept', async () => {
    const sql = "SELECT COUNT(*) AS n FROM im_users WHERE account LIKE 'crowd-%' AND last_seen_at IS NOT NULL";
    return Number((await faults.stage.sql<{ n: string }>('demo', sql))[0].n) >= gone.length;
  });
  // Nothing of the dead node is left, and its users may come back at once.
  await until('the dead node is forgotten', async () => (await rig.redis.zcard(rig.key('nodes', {}))) === 1);
  await faults.nodes[0].ended();
  await faults.nodes[0].start();
  await connectAll(gone.slice(0, 5), 0);
  await until('they are told online', () => told(gone.slice(0, 5)).every((changes) => changes === 'offline,online'));
  for (const client of second) client.close();
}, 240_000);

it('a frozen node is taken for dead; when it wakes, it registers what it holds anew', async () => {
  const some = users.slice(CROWD - 10);
  const clients = await connectAll(some, 0);
  await until('all are online', async () => eachIs(await watchAll(some), 'online'));
  const before = some.map(({ uid }) => toldOf(watcher, uid).length);
  const news = (): string[][] => some.map(({ uid }, index) => toldOf(watcher, uid).slice(before[index]));
  const node = clients[0].ready!.nodeId as string;

  faults.nodes[0].kill('SIGSTOP');
  const frozenAtMs = performance.now();
  await until('all are told offline', () => news().every((states) => states[0] === 'offline'), 60_000);
  expect(performance.now() - frozenAtMs).toBeLessThan(TOLD_WITHIN_MS);
  faults.nodes[0].kill('SIGCONT');
  // A freeze that lasted longer than a ping may cost sockets; whoever still has his is online.
  await until(
    'all whose sockets stand are told online',
    () => {
      const standing = news().filter((_, index) => clients[index].socket.connected);
      return standing.every((states) => states.at(-1) === 'online');
    },
    30_000,
  );
  const standing = some.filter((_, index) => clients[index].socket.connected);
  for (const { uid } of standing) {
    await until('the session is written under the new name', async () => {
      const { node_id } = await rig.state(uid);
      return node_id !== undefined && node_id !== node;
    });
  }
  await until('the node is ready again', async () => (await faults.nodes[0].readiness()) === 200, 30_000);
  for (const client of clients) client.close();
}, 180_000);

it('Redis dies: presence is unknown, nobody is disconnected, reading goes on; its empty return is no world of offline users', async () => {
  const some = users.slice(0, 20);
  const [owner, ...rest] = some;
  const topic = await faults.stage.group(faults.nodes[1], owner, rest);
  const clients = [...(await connectAll(some, 0)), ...(await connectAll(some.slice(0, 5), 1))];
  await until('all are online', async () => eachIs(await watchAll(some), 'online'));
  const before = some.map(({ uid }) => toldOf(watcher, uid).length);
  const news = (): string[] => some.flatMap(({ uid }, index) => toldOf(watcher, uid).slice(before[index]));

  await faults.redis.kill();
  await until('presence is unknown', async () => eachIs(await watchAll(some), 'unknown'), 20_000);
  const late = await faults.stage.connect(faults.nodes[0], users[50]);
  expect(await stateOf(late, some[0].uid)).toBe('unknown');
  expect(await faults.metric(faults.nodes[0], 'im_presence_unknown_total', 'redis_is_away')).toBeGreaterThan(0);
  expect(await clients[0].history(topic, { afterSeq: 0 })).toMatchObject({ ok: true, source: 'mysql' });
  // One leaves while nobody can be told.
  clients[19].close();
  await faults.redis.start();

  await until(
    'all are registered anew',
    async () => {
      const found = await Promise.all(some.slice(0, 19).map(({ uid }) => rig.sessions(uid)));
      return found.every((sessions) => sessions.length > 0);
    },
    30_000,
  );
  expect(eachIs(await watchAll(some), 'unknown')).toBe(true);
  await until('presence is known again', async () => (await stateOf(watcher, some[0].uid)) === 'online', 60_000);
  await until('the end of one is told', () => toldOf(watcher, some[19].uid).at(-1) === 'offline', 20_000);
  const stays = some.slice(0, 19);
  await until('and that the others are there', () =>
    stays.every(({ uid }, index) => toldOf(watcher, uid).slice(before[index]).at(-1) === 'online'),
  );
  expect(news().filter((state) => state === 'offline')).toHaveLength(1);
  expect(clients.filter((_, index) => index !== 19).every((client) => client.socket.connected)).toBe(true);
  // The members that hear a topic are written anew as well; who has two devices counts once.
  await until('all who are left are counted', async () => {
    const { topics } = await clients[0].emit('topic:subscribe', { topics: [topic] });
    return (topics as { onlineCount: number | null }[])[0].onlineCount === 19;
  });
}, 180_000);

it('a node that is told to end clears its presence, and those who move to another node never flicker', async () => {
  const some = users.slice(60, 80);
  const clients = await connectAll(some, 0);
  await until('all are online', async () => eachIs(await watchAll(some), 'online'), 60_000);
  const before = some.map(({ uid }) => toldOf(watcher, uid).length);
  const moves = clients.slice(0, 10).map(async (client, index) => {
    await new Promise<void>((resolve) => client.socket.once('disconnect', () => resolve()));
    await pause(Math.random() * 1_000);
    return faults.stage.connect(faults.nodes[1], some[index]);
  });
  faults.nodes[0].kill('SIGTERM');
  expect(await faults.nodes[0].ended()).toBe(0);
  await Promise.all(moves);
  for (const [index, { uid }] of some.entries()) expect(await rig.sessions(uid)).toHaveLength(index < 10 ? 1 : 0);
  await until(
    'who did not move is told offline',
    () => {
      return some.slice(10).every(
        ({ uid }, index) =>
          toldOf(watcher, uid)
            .slice(before[index + 10])
            .at(-1) === 'offline',
      );
    },
    30_000,
  );
  const moved = some.slice(0, 10).map(({ uid }, index) => toldOf(watcher, uid).slice(before[index]));
  expect(moved.flat()).toEqual([]);
  await faults.nodes[0].start();
}, 120_000);
