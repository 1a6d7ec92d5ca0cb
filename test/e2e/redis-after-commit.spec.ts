import { TenantDb } from '../../src/platform/mysql/tenant-db.js';
import { WriterPool } from '../../src/platform/mysql/writer-pool.js';
import { Wire } from '../integration/auth/wire.js';
import { givenServers } from '../support/environment.js';
import { until } from '../support/until.js';
import type { Action, Door } from './permissions/actions.js';
import { GROUP_ACTIONS } from './permissions/group-actions.js';
import { Group } from './permissions/group.js';
import { MESSAGE_ACTIONS } from './permissions/message-actions.js';
import { People, type Person } from './permissions/people.js';
import { ROLES, RULES, type Role } from './permissions/rules.js';

/** The same writes under other circumstances. */
const VARIANTS = /where members may|while all are|an admin|an outsider|of another|of the owner/;

interface Write {
  readonly name: string;
  readonly action: Action;
  readonly door: Door;
  readonly role: Role;
}

/** Every write that a group offers by REST, by somebody who may. */
const WRITES: readonly Write[] = [...MESSAGE_ACTIONS, ...GROUP_ACTIONS].flatMap((action) => {
  const door = action.doors.rest;
  // Those who are inside accept an invitation without any change.
  const able = ROLES.filter((one) => RULES[action.rule][one] === 'ok');
  const role = action.rule === 'accepting' ? able.find((one) => one === 'stranger') : able[0];
  if (!door || !role || action.reads || VARIANTS.test(action.name)) return [];
  return [{ name: action.name, action, door, role }];
});

/** Longer than any of these calls takes from one commit to the next. */
const QUIET_MS = 1_500;

/** Holds what has committed until nothing new commits, then lets something happen before anybody goes on. */
class CommitBarrier {
  private readonly held: (() => void)[] = [];
  private lastMs = 0;
  private isOpen = true;

  close(): void {
    this.isOpen = false;
    this.lastMs = Date.now();
  }

  async pass<T>(result: T): Promise<T> {
    if (this.isOpen) return result;
    this.lastMs = Date.now();
    await new Promise<void>((resolve) => this.held.push(resolve));
    return result;
  }

  /** @returns how many were held when it happened */
  async release(happen: () => void): Promise<number> {
    await until('nothing commits any more', () => Date.now() - this.lastMs > QUIET_MS, 30_000);
    happen();
    this.isOpen = true;
    const count = this.held.length;
    for (const goOn of this.held.splice(0)) goOn();
    return count;
  }
}

const barrier = new CommitBarrier();
let people: People;
let wire: Wire;

beforeAll(async () => {
  const url = new URL(givenServers().redis);
  wire = await Wire.to(url.hostname, Number(url.port || 6379));
  url.hostname = '127.0.0.1';
  url.port = String(wire.port);
  people = await People.open({ REDIS_URL: url.href });
  const { transaction, lockingTransaction } = TenantDb.prototype;
  const { transaction: write } = WriterPool.prototype;
  jest.spyOn(TenantDb.prototype, 'transaction').mockImplementation(async function (this: TenantDb, work) {
    return barrier.pass(await transaction.call(this, work));
  });
  jest.spyOn(TenantDb.prototype, 'lockingTransaction').mockImplementation(async function (this: TenantDb, work) {
    return barrier.pass(await lockingTransaction.call(this, work));
  });
  jest.spyOn(WriterPool.prototype, 'transaction').mockImplementation(async function (this: WriterPool, work) {
    return barrier.pass(await write.call(this, work));
  });
}, 120_000);
afterAll(async () => {
  jest.restoreAllMocks();
  wire.mend();
  await people?.stage.close();
  await wire.close();
});

/** What everybody concerned can read of a group, without what depends on Redis by its nature. */
async function readable({ at, topic, people: all }: Group, who: Person, node: number): Promise<string> {
  const mine = [
    `/v1/im/topics/${topic}/messages`,
    '/v1/im/topics?limit=100',
    '/v1/im/unread',
    '/v1/im/favorites?limit=100',
  ];
  const ofGroup = ['', '/settings', '/members?limit=100', '/bans', '/announcements', '/join-requests?limit=100'];
  const asked: [Person, string][] = [
    ...mine.map((path): [Person, string] => [who, path]),
    ...ofGroup.map((path): [Person, string] => [all.of.owner, at + path]),
  ];
  const answers = [];
  for (const [person, path] of asked) {
    const { status, body } = await all.stage.call(all.nodes[node], 'GET', path, { token: person.accessToken });
    if (status >= 500) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
    answers.push(status < 300 ? only(body, path, topic) : status);
  }
  // What no call shows.
  const invites = await all.stage.sql('acme', 'SELECT code FROM im_group_invites WHERE group_id = ? ORDER BY code', [
    topic.slice('grp_'.length),
  ]);
  return JSON.stringify([...answers, invites]);
}

/** Of lists over all conversations what belongs to this topic. */
function only(body: Record<string, unknown>, path: string, topic: string): unknown {
  const list = (path.startsWith('/v1/im/unread') ? body.topics : body.items) as { topic?: string }[] | undefined;
  if (/^\/v1\/im\/(topics\?|unread|favorites)/.test(path)) return list!.filter((item) => item.topic === topic);
  const { source: _source, lastSeq: _lastSeq, stableSeq: _stableSeq, ...rest } = body;
  return rest;
}

it('no write that was committed is undone or read otherwise because Redis failed right after it', async () => {
  expect(WRITES.length).toBeGreaterThan(25);
  const groups = new Map<Write, Group>();
  const before = new Map<Write, string>();
  const queue = [...WRITES];
  const makeSome = async (): Promise<void> => {
    for (let write = queue.shift(); write; write = queue.shift()) {
      const group = await Group.make(people, write.action);
      await write.action.prepare?.(group);
      groups.set(write, group);
      before.set(write, await readable(group, people.of[write.role], 0));
    }
  };
  await Promise.all([makeSome(), makeSome(), makeSome()]);

  // All at once up to their commits; then Redis goes away; then they go on.
  barrier.close();
  const calls = WRITES.map((write) => write.door(groups.get(write)!, write.role));
  const held = await barrier.release(() => wire.cut());
  expect(held).toBeGreaterThan(WRITES.length / 2);
  const told = await Promise.all(calls);

  const during = new Map<Write, string>();
  for (const write of WRITES) during.set(write, await readable(groups.get(write)!, people.of[write.role], 0));
  const wrong: string[] = [];
  WRITES.forEach((write, index) => {
    const { verdict } = told[index];
    const isChanged = during.get(write) !== before.get(write);
    // Stored and not confirmed everywhere is said as such; anything else that is refused has changed nothing.
    const isRight = verdict === 'ok' ? isChanged : verdict === 'SHORT_STATE_UNAVAILABLE' || !isChanged;
    if (!isRight) wrong.push(`${write.name}: ${verdict}, ${isChanged ? 'changed' : 'not changed'}`);
  });
  expect(wrong).toEqual([]);
  expect(WRITES.filter((write) => during.get(write) !== before.get(write)).length).toBeGreaterThan(WRITES.length * 0.8);

  wire.mend();
  for (const node of people.nodes) {
    await until(
      'the node is ready',
      async () => (await people.stage.call(node, 'GET', '/health/ready')).status === 200,
      30_000,
    );
  }
  for (const write of WRITES) {
    const group = groups.get(write)!;
    for (const node of [0, 1]) {
      const now = await readable(group, people.of[write.role], node);
      if (now !== during.get(write)) wrong.push(`${write.name}, node ${node}: ${now} was ${during.get(write)}`);
    }
  }
  expect(wrong).toEqual([]);
}, 240_000);
