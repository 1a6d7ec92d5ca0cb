import * as fc from 'fast-check';
import type { TestClient } from '../../support/client.js';
import { UnreadStore } from '../../../src/modules/conversation/unread.store.js';
import { Stage, type TestUser } from '../../support/stage.js';
import { until } from '../../support/until.js';

/** Histories that are tried. */
const RUNS = 5;

interface MessageRow {
  readonly topic: string;
  readonly seqid: string;
  readonly from_user: string;
  readonly status: string;
  readonly mention_all: number;
  readonly mentioned_user_ids: string | null;
}

interface Own {
  readonly uid: string;
  readonly topic: string;
  readonly n: string;
}

interface Unread {
  readonly unread: number;
  readonly mentioned: boolean;
}

let stage: Stage;
let nodes: Awaited<ReturnType<Stage['inProcess']>>[];
let round = 0;
let tenant: string;

beforeAll(async () => {
  stage = await Stage.open();
  tenant = await stage.tenant('demo', ['nobody'], { recallWindowSeconds: 600 });
  nodes = [await stage.inProcess(), await stage.inProcess()];
}, 60_000);
afterAll(() => stage.close());

/** Three users, two groups of them, and a private chat of the first two. */
class World {
  readonly topics: string[] = [];
  private sent = 0;

  private constructor(
    readonly users: TestUser[],
    readonly clients: TestClient[],
  ) {}

  static async make(): Promise<World> {
    round += 1;
    const names = ['a', 'b', 'c'].map((letter) => `${letter}-${round}`);
    await stage.addUsers('demo', names);
    const users = await Promise.all(names.map((name) => stage.login(nodes[0], 'demo', name)));
    const clients = await Promise.all(users.map((user, index) => stage.connect(nodes[index % 2], user)));
    const world = new World(users, clients);
    for (const owner of [users[0], users[1]]) {
      world.topics.push(
        await stage.group(
          nodes[0],
          owner,
          users.filter((user) => user !== owner),
        ),
      );
    }
    const [low, high] = [users[0].uid, users[1].uid].sort((x, y) => Number(BigInt(x) - BigInt(y)));
    world.topics.push(`p2p_${low}_${high}`);
    return world;
  }

  async send(user: number, topic: string, mentions: number): Promise<void> {
    this.sent += 1;
    const mentionedUserIds = mentions > 0 ? [this.users[mentions - 1].uid] : [];
    await this.clients[user].send(topic, `u-${this.sent}`, `text ${this.sent}`, { mentionedUserIds });
  }

  emit(user: number, event: string, payload: object): Promise<{ ok: boolean }> {
    return this.clients[user].emit(event, payload);
  }

  rest<T>(user: number, node: number, method: string, path: string, body?: unknown): Promise<{ body: T }> {
    return stage.call<T>(nodes[node], method, path, { token: this.users[user].accessToken, body });
  }

  /** By the operator, for everyone. */
  async block(topic: string, seq: number): Promise<void> {
    const path = `/v1/admin/tenants/${tenant}/topics/${topic}/messages/${seq}/block`;
    await stage.call(nodes[1], 'POST', path, { token: stage.environment.ADMIN_TOKEN, body: {} });
  }

  /** Between the first two users. */
  async quarrel(user: number, begins: boolean): Promise<void> {
    const { uid } = this.users[1 - user];
    if (begins) await this.rest(user, 0, 'POST', '/v1/im/relations/blocklist', { uid });
    else await this.rest(user, 1, 'DELETE', `/v1/im/relations/blocklist/${uid}`);
  }

  /** Out of the group, and let in again the next time that he is added. */
  async ban(owner: number, topic: string, user: number): Promise<void> {
    const { uid } = this.users[user];
    await this.rest(owner, 0, 'POST', `/v1/im/groups/${topic}/bans`, { uid });
    await this.rest(owner, 1, 'DELETE', `/v1/im/groups/${topic}/bans/${uid}`);
  }

  /** Counted from the rows alone, by the words of the rule: of each user and each topic. */
  async recount(): Promise<Map<string, Map<string, Unread>>> {
    const groups = this.topics.filter((topic) => topic.startsWith('grp_'));
    const uids = this.users.map(({ uid }) => BigInt(uid));
    const columns = 'topic, seqid, from_user, status, mention_all, mentioned_user_ids';
    const [messages, cursors, hides, members] = await Promise.all([
      stage.sql<MessageRow>(
        'demo',
        `SELECT ${columns} FROM im_group_messages WHERE topic IN (?) UNION ALL SELECT ${columns} FROM im_messages WHERE topic IN (?)`,
        [this.topics, this.topics],
      ),
      stage.sql<Own>('demo', 'SELECT uid, topic, read_seq AS n FROM im_topic_cursors WHERE uid IN (?)', [uids]),
      stage.sql<Own>('demo', 'SELECT uid, topic, seqid AS n FROM im_message_hides WHERE uid IN (?)', [uids]),
      stage.sql<Own>(
        'demo',
        `SELECT uid, CONCAT('grp_', group_id) AS topic, joined_seq AS n FROM im_group_members WHERE uid IN (?) AND state = 'active'`,
        [uids],
      ),
    ]);
    const of = (rows: Own[], uid: string, topic: string): number[] =>
      rows.filter((row) => String(row.uid) === uid && row.topic === topic).map(({ n }) => Number(n));
    const count = (uid: string, topic: string): Unread => {
      const isSide = topic.split('_').includes(uid);
      const joined = groups.includes(topic) ? of(members, uid, topic) : isSide ? [0] : [];
      if (joined.length === 0) return { unread: 0, mentioned: false };
      const from = Math.max(joined[0], ...of(cursors, uid, topic));
      const gone = of(hides, uid, topic);
      const unread = messages.filter(
        (row) =>
          row.topic === topic &&
          Number(row.seqid) > from &&
          String(row.from_user) !== uid &&
          row.status === 'normal' &&
          !gone.includes(Number(row.seqid)),
      );
      const names = ({ mention_all: all, mentioned_user_ids: some }: MessageRow): boolean =>
        Number(all) === 1 || (JSON.parse(some ?? '[]') as string[]).includes(uid);
      return { unread: unread.length, mentioned: unread.some(names) };
    };
    return new Map(this.users.map(({ uid }) => [uid, new Map(this.topics.map((topic) => [topic, count(uid, topic)]))]));
  }

  /** What each user is told, by every door, against the recount. */
  async check(): Promise<void> {
    const counted = await this.recount();
    for (const [index, user] of this.users.entries()) {
      const wanted = counted.get(user.uid)!;
      const unread = [...wanted].filter(([, { unread }]) => unread > 0);
      const total = unread.reduce((sum, [, { unread }]) => sum + unread, 0);
      for (const node of [0, 1]) {
        const { body } = await this.rest<{ totalUnread: number; topics: ({ topic: string } & Unread)[] }>(
          ...([index, node, 'GET', '/v1/im/unread'] as const),
        );
        expect(body.totalUnread).toBe(total);
        expect(new Map(body.topics.map(({ topic, ...count }) => [topic, count]))).toEqual(new Map(unread));
        const list = await this.rest<{ items: ({ topic: string } & Unread)[] }>(index, node, 'GET', '/v1/im/topics');
        for (const { topic, unread: count, mentioned } of list.body.items) {
          expect([topic, { unread: count, mentioned }]).toEqual([topic, wanted.get(topic)]);
        }
      }
    }
  }
}

const user = fc.nat({ max: 2 });
const topic = fc.nat({ max: 2 });
const seq = fc.integer({ min: 1, max: 9 });
const action = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('send'), user, topic, n: fc.nat({ max: 3 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('read'), user, topic, n: fc.nat({ max: 12 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('recall'), user, topic, n: seq }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('remove'), user, topic, n: seq }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('hide'), user, topic, n: seq }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('leave'), user, topic, n: fc.constant(0) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('add'), user, topic, n: fc.constant(0) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('edit'), user, topic, n: seq }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('ban'), user, topic, n: fc.constant(0) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('block'), user, topic, n: seq }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('quarrel'), user, topic, n: fc.nat({ max: 1 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('check'), user, topic, n: fc.constant(0) }) },
);

async function act(
  world: World,
  { kind, user, topic, n }: { kind: string; user: number; topic: number; n: number },
): Promise<void> {
  const name = world.topics[topic];
  const owner = topic === 0 ? 0 : 1;
  switch (kind) {
    case 'send':
      return world.send(user, name, n);
    case 'read':
      return void (await world.emit(user, 'topic:read', { topic: name, seq: n }));
    case 'recall':
    case 'remove':
      return void (await world.emit(user, `message:${kind}`, { topic: name, seq: n }));
    case 'edit':
      return void (await world.emit(user, 'message:edit', {
        ...{ topic: name, seq: n, version: 1 },
        content: { text: 'edited' },
      }));
    case 'block':
      return world.block(name, n);
    case 'quarrel':
      // The sides of the private chat: one blocks the other, or ends it.
      return world.quarrel(user % 2, n === 0);
    case 'ban':
      if (topic === 2) return;
      return world.ban(owner, name, user);
    case 'hide':
      return void (await world.emit(user, 'message:delete', { topic: name, seqs: [n] }));
    case 'leave':
      if (topic === 2) return;
      return void (await world.rest(user, 0, 'DELETE', `/v1/im/groups/${name}/members/${world.users[user].uid}`));
    case 'add':
      if (topic === 2) return;
      return void (await world.rest(owner, 1, 'POST', `/v1/im/groups/${name}/members`, {
        uids: [world.users[user].uid],
      }));
    default:
      return world.check();
  }
}

describe('unread messages', () => {
  it('after any history equal a recount, on every node and by every door, kept or counted anew', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 12, maxLength: 24 }), async (actions) => {
        const world = await World.make();
        for (const one of actions) await act(world, one);
        await world.check();
        // The same again, now out of what was kept.
        await world.check();
      }),
      // A smaller history that fails, too, is not worth minutes.
      { numRuns: RUNS, endOnFailure: true },
    );
  }, 240_000);

  it('do not count what was sent by oneself, also on a new device, and never fall below zero (B41, B42)', async () => {
    const world = await World.make();
    const [, , chat] = world.topics;
    for (let n = 0; n < 3; n += 1) await world.send(0, chat, 0);
    for (let n = 0; n < 2; n += 1) await world.send(1, chat, 1);
    const unread = (): Promise<{ body: object }> => world.rest<object>(0, 1, 'GET', '/v1/im/unread');
    expect((await unread()).body).toMatchObject({
      totalUnread: 2,
      topics: [{ topic: chat, unread: 2, mentioned: true }],
    });
    const far = { topic: chat, seq: Number.MAX_SAFE_INTEGER };
    expect(await world.emit(0, 'topic:read', far)).toMatchObject({ ok: true, readSeq: 5, unread: 0, totalUnread: 0 });
    expect(await world.emit(0, 'topic:read', { topic: chat, seq: 1 })).toMatchObject({ readSeq: 5, unread: 0 });
    await world.send(1, chat, 0);
    expect((await unread()).body).toMatchObject({ totalUnread: 1 });
    for (const wrong of [-1, 1.5, '3', null, 2 ** 53]) {
      expect(await world.emit(0, 'topic:read', { topic: chat, seq: wrong })).toMatchObject({
        error: { code: 'VALIDATION_FAILED' },
      });
    }
  });

  it('count a message that commits after a later one, also when they were counted in between', async () => {
    const world = await World.make();
    const [group] = world.topics;
    for (let n = 0; n < 3; n += 1) await world.send(1, group, 0);
    // The second one as it is for others before it commits: not there.
    const late = 'FROM im_group_messages WHERE topic = ? AND seqid = 2';
    const [row] = await stage.sql<Record<string, unknown>>('demo', `SELECT * ${late}`, [group]);
    await stage.sql('demo', `DELETE ${late}`, [group]);
    const unread = (node: number): Promise<{ body: object }> => world.rest<object>(0, node, 'GET', '/v1/im/unread');
    for (const node of [0, 1, 0, 1]) expect((await unread(node)).body).toMatchObject({ totalUnread: 2 });
    await stage.sql('demo', 'INSERT INTO im_group_messages SET ?', [row]);
    for (const node of [0, 1]) expect((await unread(node)).body).toMatchObject({ totalUnread: 3 });
    await world.check();
  });

  it('are counted again only where something came, was read or changed', async () => {
    const world = await World.make();
    const [group, other] = world.topics;
    for (let n = 0; n < 12; n += 1) await world.send(1, group, n % 2);
    for (let n = 0; n < 3; n += 1) await world.send(1, other, 0);
    const reader = nodes[0].application.nest.get(UnreadStore, { strict: false });
    const count = jest.spyOn(reader, 'count');
    const looked = (): [string, number][] =>
      count.mock.calls.flatMap(([, , ranges]) =>
        ranges.map(({ topic, from, to }) => [topic, to - from] as [string, number]),
      );
    const read = async (seq: number): Promise<[unknown, [string, number][]]> => {
      count.mockClear();
      const { unread, totalUnread } = (await world.emit(0, 'topic:read', { topic: group, seq })) as unknown as {
        unread: number;
        totalUnread: number;
      };
      return [[unread, totalUnread], looked()];
    };
    expect(await read(2)).toEqual([
      [10, 13],
      expect.arrayContaining([
        [group, 10],
        [other, 3],
      ]),
    ]);
    await until('the counts are kept', async () => (await read(2))[1].length === 0);
    expect(await read(4)).toEqual([[8, 11], [[group, 2]]]);
    await until('the count is kept', async () => (await read(4))[1].length === 0);
    await world.send(1, other, 1);
    expect(await read(4)).toEqual([[8, 12], [[other, 1]]]);
    await world.emit(1, 'message:recall', { topic: group, seq: 9 });
    expect(await read(4)).toEqual([[7, 11], expect.arrayContaining([[group, 8]])]);
    count.mockRestore();
  });
});
