import type { TestClient } from '../support/client.js';
import { Stage, type TestNode, type TestUser } from '../support/stage.js';
import { until } from '../support/until.js';

/** What MySQL does to other systems: dead connections, deadlocks, doubled positions. */
const MEMBERS = 24;
const accounts = Array.from({ length: MEMBERS }, (_, index) => `member${index}`);

let stage: Stage;
let nodes: TestNode[];
let users: TestUser[];
let clients: TestClient[];
let topic: string;

beforeAll(async () => {
  stage = await Stage.open({ MYSQL_POOL_SIZE: '5' });
  await stage.tenant('demo', accounts);
  nodes = [await stage.inProcess(), await stage.process()];
  users = [];
  for (const [index, account] of accounts.entries()) users.push(await stage.login(nodes[index % 2], 'demo', account));
  topic = await stage.group(nodes[0], users[0], users.slice(1));
  clients = await Promise.all(users.map((user, index) => stage.connect(nodes[index % 2], user)));
}, 90_000);
afterAll(() => stage.close());

/** Sends until it is acknowledged; whatever is refused meanwhile must say that it may be repeated. */
async function sendThrough(client: TestClient, id: string): Promise<number> {
  return until(
    `${id} is acknowledged`,
    async () => {
      const ack = await client.send(topic, id, id);
      if (!ack.ok) expect(ack.error).toMatchObject({ retryable: true });
      return ack.ok && ack.seq;
    },
    8_000,
  );
}

describe('B74: dead connections', () => {
  const killAll = async (): Promise<number> => {
    const list = await stage.sql<{ id: string }>(
      'demo',
      'SELECT id FROM information_schema.processlist WHERE db LIKE ? AND id <> CONNECTION_ID()',
      [`${stage.name}_%`],
    );
    for (const { id } of list) await stage.sql('demo', `KILL ${id}`).catch(() => undefined);
    return list.length;
  };

  it('all of them killed under load, three times: it recovers in seconds, nothing acknowledged is lost', async () => {
    const acknowledged = new Map<string, number>();
    for (let round = 0; round < 3; round += 1) {
      let killed = false;
      const load = clients.slice(0, 10).map(async (client, index) => {
        for (let count = 0; !killed || count < 3; count += 1) {
          const id = `kill-${round}-${index}-${count}`;
          acknowledged.set(id, await sendThrough(client, id));
        }
      });
      await until('the load runs', () => acknowledged.size > round * 30 + 5);
      expect(await killAll()).toBeGreaterThan(1);
      killed = true;
      const began = Date.now();
      await Promise.all(load);
      expect(Date.now() - began).toBeLessThan(10_000);
    }
    const stored = await clients[0].historyFrom(topic);
    const bySeq = new Map(stored.map((message) => [message.clientMsgId, message.seq]));
    for (const [id, seq] of acknowledged) expect([id, bySeq.get(id)]).toEqual([id, seq]);
    expect(bySeq.size).toBe(stored.length);
  }, 60_000);

  it('all of them killed while nobody asks: the next calls find new ones', async () => {
    await killAll();
    const calls = clients.map(async (client, index) => {
      const path = '/v1/im/users/me';
      const me = (): Promise<{ status: number }> =>
        stage.call(nodes[index % 2], 'GET', path, { token: users[index].accessToken });
      await until(
        'the profile is answered',
        async () => {
          const { status } = await me();
          expect([200, 503]).toContain(status);
          return status === 200;
        },
        5_000,
      );
      await until('the page is answered', async () => (await client.history(topic, { limit: 5 })).ok, 5_000);
    });
    await Promise.all(calls);
    await sendThrough(clients[0], 'after-idle');
  }, 30_000);

  it('a pool that is used up makes callers wait or says so, and never for ever', async () => {
    const began = Date.now();
    const answers = await Promise.all(
      Array.from({ length: 150 }, (_, index) =>
        stage.call(nodes[0], 'GET', `/v1/im/topics/${topic}/messages?limit=${1 + (index % 50)}`, {
          token: users[index % MEMBERS].accessToken,
        }),
      ),
    );
    expect(answers.filter((answer) => answer.status !== 200 && answer.status !== 503)).toEqual([]);
    expect(Date.now() - began).toBeLessThan(30_000);
    expect(answers.some((answer) => answer.status === 200)).toBe(true);
  }, 40_000);
});

describe('B76: many writers of the same rows', () => {
  it('positions of all members rise while messages come in: no deadlock reaches anybody, none goes back', async () => {
    const last = await sendThrough(clients[0], 'top');
    const wanted = Array.from({ length: 6 }, (_, index) => Math.max(1, last - index * 3));
    const answers = await Promise.all([
      ...clients.flatMap((client) => wanted.map((seq) => client.emit('topic:read', { topic, seq }))),
      ...clients.flatMap((client) => wanted.map((seq) => client.emit('topic:received', { topic, seq }))),
      ...clients
        .slice(0, 12)
        .map((client, index) => client.emit('message:delete', { topic, seqs: wanted.slice(index % 3) })),
    ]);
    expect(answers.filter((answer) => !answer.ok)).toEqual([]);
    const rows = await stage.sql<{ read_seq: string }>(
      'demo',
      'SELECT read_seq FROM im_topic_cursors WHERE topic = ?',
      [topic],
    );
    expect(rows.map((row) => Number(row.read_seq))).toEqual(clients.map(() => last));
  }, 60_000);

  it('edits and recalls of one message by everybody: each is decided once, change numbers have no hole', async () => {
    const before = Number((await clients[0].emit('topic:changes', { topic, afterChange: 0 })).lastChange);
    const seqs = await Promise.all(clients.slice(0, 6).map((client, index) => sendThrough(client, `many-${index}`)));
    const answers = await Promise.all(
      seqs.flatMap((seq, index) => [
        ...Array.from({ length: 4 }, () => clients[index].emit('message:recall', { topic, seq })),
        ...Array.from({ length: 4 }, () => clients[0].emit('message:recall', { topic, seq })),
      ]),
    );
    expect(answers.filter((answer) => !answer.ok)).toEqual([]);
    const changes = await clients[1].emit('topic:changes', { topic, afterChange: before });
    const told = changes.changes as { change: number; seq: number }[];
    expect(told.map((one) => one.change)).toEqual(seqs.map((_seq, index) => before + 1 + index));
    expect(told.map((one) => one.seq).sort((x, y) => x - y)).toEqual([...seqs].sort((x, y) => x - y));
  }, 60_000);
});

describe('B41, B42: read positions and what is unread', () => {
  it('a position is at most the newest message, never goes back, and is of the right kind', async () => {
    const own = await stage.group(nodes[0], users[0], [users[1]]);
    for (let index = 0; index < 5; index += 1) await clients[0].send(own, `m${index}`, 'x');
    const read = (seq: unknown): Promise<Record<string, unknown>> => clients[1].emit('topic:read', { topic: own, seq });
    for (const seq of [2 ** 53, -1, 1.5, '7', NaN, null, undefined, [3], {}]) {
      expect(await read(seq)).toMatchObject({ ok: false, error: { code: 'VALIDATION_FAILED' } });
    }
    expect(await read(3)).toMatchObject({ ok: true, readSeq: 3, unread: 2 });
    expect(await read(1)).toMatchObject({ ok: true, readSeq: 3, unread: 2 });
    expect(await read(1_005)).toMatchObject({ ok: true, readSeq: 5, unread: 0 });
    await clients[0].send(own, 'more', 'x');
    expect(await read(0)).toMatchObject({ ok: true, readSeq: 5, unread: 1 });
    const stranger = await clients[2].emit('topic:read', { topic: own, seq: 1 });
    expect(stranger).toMatchObject({ ok: false, error: { code: 'NOT_MEMBER' } });
  });

  it('own messages are never unread, on any device', async () => {
    const own = await stage.group(nodes[0], users[0], [users[1], users[2]]);
    for (let index = 0; index < 3; index += 1) await clients[0].send(own, `a${index}`, 'x');
    for (let index = 0; index < 2; index += 1) await clients[1].send(own, `b${index}`, 'x');
    const again = await stage.login(nodes[1], 'demo', accounts[0]);
    const unread: number[] = [];
    for (const user of [again, users[1], users[2]]) {
      const { body } = await stage.call(nodes[1], 'GET', '/v1/im/topics', { token: user.accessToken });
      unread.push((body.items as { topic: string; unread: number }[]).find((item) => item.topic === own)!.unread);
    }
    expect(unread).toEqual([2, 3, 5]);
  });
});
