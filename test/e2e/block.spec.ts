import { Redis } from 'ioredis';
import type { TestClient } from '../support/client.js';
import { Stage, type RestAnswer, type TestNode, type TestUser } from '../support/stage.js';
import { until } from '../support/until.js';

const MARKER = 'okapi-that-nobody-may-read';

let stage: Stage;
let tenant: string;
let one: TestNode;
let two: TestNode;
let [alice, bob]: TestUser[] = [];
let topic: string;
let [a, b]: TestClient[] = [];
let number = 0;

beforeAll(async () => {
  stage = await Stage.open({ HOT_MIN_MEMBERS: '1' });
  tenant = await stage.tenant('demo', ['alice', 'bob']);
  [one, two] = [await stage.inProcess(), await stage.process()];
  [alice, bob] = [await stage.login(one, 'demo', 'alice'), await stage.login(one, 'demo', 'bob')];
}, 90_000);
afterAll(() => stage.close());

beforeEach(async () => {
  topic = await stage.group(one, alice, [bob]);
  [a, b] = await Promise.all([stage.connect(one, alice), stage.connect(two, bob)]);
});

const say = async (client: TestClient, text: string, more = {}): Promise<number> => {
  number += 1;
  return (await client.send(topic, `m-${number}`, text, more)).seq;
};

interface Order {
  readonly seq: number | string;
  readonly token?: string;
  readonly in?: string;
  readonly body?: object;
}
const block = (order: Order): Promise<RestAnswer> =>
  stage.call(two, 'POST', `/v1/admin/tenants/${order.in ?? tenant}/topics/${topic}/messages/${order.seq}/block`, {
    token: order.token ?? stage.environment.ADMIN_TOKEN,
    body: order.body ?? {},
  });

/** Every key of this deployment that holds the text. */
async function keysWith(text: string): Promise<string[]> {
  const redis = new Redis(stage.servers.redis);
  try {
    const found: string[] = [];
    for await (const keys of redis.scanStream({ match: `${stage.environment.REDIS_KEY_PREFIX}:*` })) {
      for (const key of keys as string[]) {
        const dump = (await redis.dumpBuffer(key)) ?? Buffer.alloc(0);
        const members = (await redis.type(key)) === 'zset' ? (await redis.zrange(key, '0', '-1')).join('\n') : '';
        if (dump.includes(text) || members.includes(text)) found.push(key);
      }
    }
    return found;
  } finally {
    redis.disconnect();
  }
}

describe('a message that the operator blocked', () => {
  it('is readable through no door any more, hot or not, on any node; everybody is told, and it is audited once', async () => {
    await say(a, 'before');
    const seq = await say(b, MARKER, { head: { client: { note: MARKER } } });
    for (const client of [a, b]) {
      await until('the text is read out of the hot set', async () => {
        const page = await client.history(topic, { afterSeq: 0 });
        return page.source === 'hot' && JSON.stringify(page).includes(MARKER);
      });
    }
    expect(await keysWith(MARKER)).not.toEqual([]);

    const answer = await block({ seq, body: { reason: 'by court order' } });
    expect(answer).toMatchObject({ status: 200, body: { version: 2, updatedAt: expect.any(String) as string } });
    expect((await block({ seq })).body).toMatchObject({ version: 2 });

    for (const client of [a, b]) {
      await until('it is told', () => client.events('message:changed').length > 0);
      const changes = client.events('message:changed');
      expect(changes).toMatchObject([{ topic, seq, version: 2, status: 'blocked', change: 1 }]);
      expect(changes[0]).not.toHaveProperty('content');
    }
    for (const [node, client, user] of [
      [one, a, alice],
      [two, b, bob],
    ] as const) {
      const doors: unknown[] = [
        await client.history(topic, { afterSeq: 0 }),
        await client.history(topic, {}),
        await client.history(topic, { beforeSeq: seq + 1, limit: 1 }),
        await until('hot', async () => {
          const page = await client.history(topic, { afterSeq: 0 });
          return page.source === 'hot' && page;
        }),
        await client.emit('topic:changes', { topic, afterChange: 0 }),
      ];
      for (const path of [
        `/v1/im/topics/${topic}/messages`,
        `/v1/im/topics/${topic}/messages?afterSeq=0`,
        `/v1/im/topics/${topic}/changes?afterChange=0`,
        '/v1/im/topics',
      ])
        doors.push((await stage.call(node, 'GET', path, { token: user.accessToken })).body);
      for (const door of doors) {
        expect(JSON.stringify(door)).not.toContain(MARKER);
        expect(JSON.stringify(door)).toContain('"blocked"');
      }
    }
    expect(await keysWith(MARKER)).toEqual([]);
    const audit = await stage.sql(
      'demo',
      "SELECT actor, target, detail FROM im_audit_logs WHERE action = 'message.block'",
    );
    expect(audit).toEqual([{ actor: '0', target: `${topic}/${seq}`, detail: expect.any(String) as string }]);
    expect(JSON.stringify(audit)).toContain('by court order');
    expect(JSON.stringify(audit)).toContain('operator');
    expect(JSON.stringify(audit)).not.toContain(MARKER);
  });

  it('stays blocked, whatever its sender and the admins of the group do', async () => {
    const seq = await say(b, MARKER);
    expect(await block({ seq })).toMatchObject({ status: 200 });
    const edit = { topic, seq, content: { text: 'again' }, version: 2 };
    expect(await b.emit('message:edit', edit)).toMatchObject({ error: { code: 'CONFLICT' } });
    expect(await b.emit('message:recall', { topic, seq })).toMatchObject({ error: { code: 'CONFLICT' } });
    expect(await a.emit('message:remove', { topic, seq })).toMatchObject({ error: { code: 'CONFLICT' } });
    expect((await a.history(topic, {})).messages).toMatchObject([{ seq, status: 'blocked', content: null }]);
  });

  it('can be one that was recalled before, and one of a group that is gone', async () => {
    const recalled = await say(b, MARKER);
    await b.emit('message:recall', { topic, seq: recalled });
    expect(await block({ seq: recalled })).toMatchObject({ status: 200, body: { version: 3 } });
    const seq = await say(b, MARKER);
    await stage.call(one, 'DELETE', `/v1/im/groups/${topic}`, { token: alice.accessToken });
    expect(await block({ seq })).toMatchObject({ status: 200, body: { version: 2 } });
  });
});

describe('the door for blocking', () => {
  it('opens to the admin token alone', async () => {
    const seq = await say(b, 'text');
    for (const token of [alice.accessToken, 'x', `${stage.environment.ADMIN_TOKEN}x`]) {
      expect(await block({ seq, token })).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
    }
    const path = `/v1/admin/tenants/${tenant}/topics/${topic}/messages/${seq}/block`;
    expect(await stage.call(one, 'POST', path, { body: {} })).toMatchObject({ status: 401 });
    // And the admin token is no user's.
    const token = stage.environment.ADMIN_TOKEN;
    expect(await stage.call(one, 'GET', '/v1/im/topics', { token })).toMatchObject({ status: 401 });
    expect((await a.history(topic, {})).messages).toMatchObject([{ status: 'normal' }]);
  });

  it('says what it did not find, and refuses what it does not know', async () => {
    const seq = await say(b, 'text');
    expect(await block({ seq: seq + 1 })).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
    expect(await block({ seq, in: '999999' })).toMatchObject({ status: 404, body: { code: 'TENANT_UNKNOWN' } });
    for (const order of [{ seq: 0 }, { seq: 'x' }, { seq, in: 'x' }, { seq, body: { why: 'x' } }]) {
      expect(await block(order)).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
    }
  });
});
