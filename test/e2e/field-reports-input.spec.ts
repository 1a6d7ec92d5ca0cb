import type { TestClient } from '../support/client.js';
import { Stage, type RestAnswer, type TestNode, type TestUser } from '../support/stage.js';

/** Input that crashed, fooled or slowed other systems. docs/field-reports.md says where each comes from. */
let stage: Stage;
let node: TestNode;
let alice: TestUser;
let a: TestClient;
let topic: string;

const HOUR_MS = 3_600_000;
const REFUSED = { ok: false, error: { code: 'VALIDATION_FAILED' } };

beforeAll(async () => {
  stage = await Stage.open();
  await stage.tenant('demo', ['alice', 'bob']);
  node = await stage.inProcess();
  alice = await stage.login(node, 'demo', 'alice');
  a = await stage.connect(node, alice);
  topic = await stage.group(node, alice, [await stage.login(node, 'demo', 'bob')]);
}, 60_000);
afterAll(() => stage.close());

/** JSON keeps a key that a literal would take for the prototype. */
const json = (text: string): Record<string, unknown> => JSON.parse(text) as Record<string, unknown>;
const rest = (method: string, path: string, body?: unknown): Promise<RestAnswer> =>
  stage.call(node, method, path, { token: alice.accessToken, body });

describe('B05: the clock of a device', () => {
  it.each(['clientTime', 'createdAt', 'timestamp', 'sendTime', 'seq'])(
    'has no field %s to come in by',
    async (field) => {
      for (const time of [Date.now() + 5 * HOUR_MS, 0, '2020-01-01T00:00:00.000Z', 9e15, null]) {
        expect(await a.send(topic, `clock-${field}`, 'x', { [field]: time })).toMatchObject(REFUSED);
      }
    },
  );

  it('is an opaque echo in the head: order and times are the server’s, in pages and in the conversation list', async () => {
    const own = await stage.group(node, alice, []);
    const times = [Date.now() + 5 * HOUR_MS, 0, Date.now() - 8_760 * HOUR_MS, NaN, 'yesterday', 9e15];
    const before = Date.now();
    for (const [index, time] of times.entries()) {
      expect(await a.send(own, `t${index}`, 'x', { head: { client: { time } } })).toMatchObject({ ok: true });
    }
    const messages = await a.historyFrom(own);
    expect(messages.map((message) => message.clientMsgId)).toEqual(times.map((_time, index) => `t${index}`));
    const createdAt = messages.map((message) => Date.parse(message.createdAt));
    expect(createdAt).toEqual([...createdAt].sort((x, y) => x - y));
    for (const time of createdAt) expect(time >= before - 1_000 && time <= Date.now() + 1_000).toBe(true);
    const { body } = await rest('GET', '/v1/im/topics');
    const item = (body.items as { topic: string; lastMessage: unknown }[]).find((one) => one.topic === own);
    expect(item?.lastMessage).toEqual(messages.at(-1));
    // The window of a recall is not moved by it either.
    expect(await a.emit('message:recall', { topic: own, seq: messages[2].seq })).toMatchObject({ ok: true });
  });
});

describe('B47: page sizes', () => {
  const LIMITS = [0, -1, 1e9, '10', '10;', 1.5, [10], { gt: 1 }, true, null, '1e2', ' 5', '１０', ''];

  it('of events are whole numbers within their bounds, or refused', async () => {
    for (const limit of LIMITS) {
      expect(await a.emit('message:history', { topic, afterSeq: 0, limit })).toMatchObject(REFUSED);
      expect(await a.emit('topic:changes', { topic, afterChange: 0, limit })).toMatchObject(REFUSED);
    }
    for (const bound of ['1', -1, 1.5, 2 ** 53, [1], {}, true]) {
      expect(await a.emit('message:history', { topic, afterSeq: bound })).toMatchObject(REFUSED);
      expect(await a.emit('message:history', { topic, beforeSeq: bound })).toMatchObject(REFUSED);
    }
  });

  it('of REST as well', async () => {
    const texts = ['0', '-1', '1000000000', '10;', '1.5', 'NaN', '1e2', '0x10', '%2010', '', '10&limit=20'];
    const paths = ['messages?afterSeq=0&', 'changes?afterChange=0&'].map((tail) => `/v1/im/topics/${topic}/${tail}`);
    for (const path of [...paths, '/v1/im/topics?', `/v1/im/groups/${topic}/members?`]) {
      for (const text of texts) {
        const answer = await rest('GET', `${path}limit=${text}`);
        expect([path, text, answer.status, answer.body.code]).toEqual([path, text, 400, 'VALIDATION_FAILED']);
      }
      for (const text of ['limit[]=10', 'limit[gt]=1', 'limit[__proto__]=1']) {
        expect((await rest('GET', `${path}${text}`)).status).toBe(400);
      }
      expect((await rest('GET', `${path}limit=1`)).status).toBe(200);
    }
  });

  it('however many there are: no statement stays prepared at the server', async () => {
    const prepared = async (): Promise<number> => {
      const [row] = await stage.sql<{ Value: string }>('demo', "SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'");
      return Number(row.Value);
    };
    const uids = (count: number): string => Array.from({ length: count }, (_, index) => index + 1).join(',');
    const before = await prepared();
    for (let size = 1; size <= 200; size += 1) {
      await Promise.all([
        a.history(topic, { afterSeq: size, limit: size }),
        a.history(topic, { beforeSeq: size + 1, limit: size }),
        a.emit('topic:changes', { topic, afterChange: 0, limit: size }),
        a.emit('message:delete', { topic, seqs: Array.from({ length: (size % 100) + 1 }, (_, index) => index + 1) }),
        rest('GET', `/v1/im/users?uids=${uids(size)}`),
      ]);
    }
    expect((await prepared()) - before).toBeLessThan(20);
  });
});

describe('B51: keys and names of the prototype', () => {
  const POISON = [
    '{"__proto__":{"isAdmin":true}}',
    '{"constructor":{"prototype":{"muted":false}}}',
    '{"a":{"b":{"c":{"__proto__":{"isAdmin":true}}}}}',
    '{"a":[[{"constructor":{"prototype":{"isAdmin":true}}}]]}',
    '{"prototype":{"isAdmin":true}}',
  ];

  const clean = (): void => {
    const fresh = {} as Record<string, unknown>;
    expect([fresh.isAdmin, fresh.muted, fresh.polluted]).toEqual([undefined, undefined, undefined]);
  };

  it.each(POISON)('%s is refused in every JSON field of an event', async (text) => {
    const poison = json(text);
    const custom = { type: 'custom', content: { schema: 's', data: poison } };
    const payloads = [
      poison,
      { ...custom, topic, clientMsgId: 'p' },
      { topic, clientMsgId: 'p', type: 'text', content: poison },
      {
        topic,
        clientMsgId: 'p',
        type: 'text',
        content: { text: 'x', entities: [{ type: 'b', offset: 0, length: 1, data: poison }] },
      },
      { topic, clientMsgId: 'p', type: 'text', content: { text: 'x' }, head: { client: poison } },
      { topic, clientMsgId: 'p', type: 'text', content: { text: 'x' }, head: { forwarded: [poison] } },
    ];
    for (const payload of payloads) expect(await a.emit('message:send', payload)).toMatchObject(REFUSED);
    for (const event of ['message:edit', 'topic:read', 'topic:subscribe', 'message:history']) {
      expect(await a.emit(event, { topic, seq: 1, version: 1, content: poison })).toMatchObject(REFUSED);
    }
    clean();
  });

  it.each(POISON)('%s is refused in every body of REST', async (text) => {
    const poison = json(text);
    const calls: [string, string, object][] = [
      ['PATCH', '/v1/im/users/me', poison],
      ['PATCH', '/v1/im/users/me', { nickname: poison }],
      ['POST', '/v1/im/groups', { name: 'g', ...poison }],
      ['PATCH', `/v1/im/groups/${topic}/settings`, poison],
      [
        'POST',
        `/v1/im/topics/${topic}/messages`,
        { clientMsgId: 'p', type: 'custom', content: { schema: 's', data: poison } },
      ],
      ['POST', '/v1/auth/enterprise', { code: poison }],
    ];
    for (const [method, path, body] of calls) {
      expect([path, (await rest(method, path, body)).status]).toEqual([path, 400]);
    }
    clean();
  });

  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
    'the name %s is one like any other',
    async (name) => {
      expect(await a.emit('message:history', { topic: name })).toMatchObject(REFUSED);
      expect(await a.send(topic, 'p', 'x', { type: name })).toMatchObject(REFUSED);
      expect((await rest('GET', `/v1/im/users/${name}`)).status).toBeGreaterThanOrEqual(400);
      const enterprise = await stage.call(node, 'POST', '/v1/auth/enterprise', { body: { code: name } });
      expect(enterprise.status).toBeGreaterThanOrEqual(400);
      await expect(stage.login(node, 'demo', name)).rejects.toThrow('UNAUTHENTICATED');
      // As a client id and as a device it is inert.
      const device = await stage.connect(node, alice, { deviceId: name });
      const first = await device.send(topic, name, 'x');
      expect(await device.send(topic, name, 'x')).toMatchObject({ ok: true, seq: first.seq, duplicate: true });
      const content = { schema: name, data: { then: name, name } };
      const custom = await device.emit('message:send', { topic, clientMsgId: `${name}-data`, type: 'custom', content });
      const [stored] = (await a.history(topic, { afterSeq: Number(custom.seq) - 1, limit: 1 })).messages;
      expect(stored.content).toEqual(content);
      clean();
    },
  );
});

describe('B53: characters of four bytes and more', () => {
  const TEXTS = ['🐟', '👨‍👩‍👧‍👦', '🏳️‍🌈🇪🇺🇨🇳', '👍🏽', '𠀀𠮷𪚥', '🎉'.repeat(32), `e${'\u0301'.repeat(20)}`, 'ﷺ ẞ ı'];

  it.each(TEXTS)('%s comes back byte for byte through every door', async (text) => {
    expect((await rest('PATCH', '/v1/im/users/me', { nickname: text, signature: text, region: text })).status).toBe(
      200,
    );
    expect((await rest('PATCH', `/v1/im/groups/${topic}`, { name: text, intro: text })).status).toBe(200);
    await rest('PATCH', `/v1/im/groups/${topic}/members/${alice.uid}`, { nickname: text });
    // The account still opens.
    const again = await stage.login(node, 'demo', 'alice');
    const me = await stage.call(node, 'GET', '/v1/im/users/me', { token: again.accessToken });
    expect(me.body).toMatchObject({ nickname: text, signature: text, region: text });
    expect((await rest('GET', `/v1/im/groups/${topic}`)).body).toMatchObject({ name: text, intro: text });
    const members = await rest('GET', `/v1/im/groups/${topic}/members?q=${encodeURIComponent(text)}`);
    expect((members.body.items as { uid: string }[]).map((item) => item.uid)).toContain(alice.uid);
    const content = { text, entities: [{ type: 'mention', offset: 0, length: text.length, data: { name: text } }] };
    const ack = await a.emit('message:send', {
      topic,
      clientMsgId: `b53-${TEXTS.indexOf(text)}`,
      type: 'text',
      content,
    });
    const [stored] = (await a.history(topic, { afterSeq: Number(ack.seq) - 1, limit: 1 })).messages;
    expect(stored.content).toEqual(content);
  });

  it('limits count code points and never cut: at the limit whole, one above refused', async () => {
    const name = '🎉'.repeat(64);
    expect((await rest('PATCH', '/v1/im/users/me', { nickname: name })).body.nickname).toBe(name);
    expect((await rest('PATCH', '/v1/im/users/me', { nickname: `${name}🎉` })).status).toBe(400);
    expect((await rest('GET', '/v1/im/users/me')).body.nickname).toBe(name);
    const longest = await a.send(topic, 'longest', '𠀀'.repeat(8_000));
    expect(longest).toMatchObject({ ok: true });
    const [stored] = (await a.history(topic, { afterSeq: longest.seq - 1, limit: 1 })).messages;
    expect(stored.content).toEqual({ text: '𠀀'.repeat(8_000) });
    expect(await a.send(topic, 'too-long', '𠀀'.repeat(8_001))).toMatchObject(REFUSED);
    for (const half of ['\ud83c', '\udf89', 'a\ud83c']) {
      expect((await rest('PATCH', '/v1/im/users/me', { nickname: half })).status).toBe(400);
    }
  });
});
