import type { Application } from '../../../src/application.js';
import { asTenantId, type TenantId } from '../../../src/platform/ids/ids.js';
import { RedisKeys } from '../../../src/platform/redis/keys.js';
import { RedisClients } from '../../../src/platform/redis/redis-clients.js';
import type { TestClient } from '../../support/client.js';
import { Stage, type TestNode, type TestUser } from '../../support/stage.js';
import { until } from '../../support/until.js';

let stage: Stage;
let tenant: TenantId;
let one: TestNode & { readonly application: Application };
let two: TestNode;
let users: Record<'alice' | 'bob' | 'carol' | 'dave', TestUser>;
let number = 0;

const id = (): string => `d-${(number += 1)}`;
const topicOf = (a: TestUser, b: TestUser): string =>
  BigInt(a.uid) < BigInt(b.uid) ? `p2p_${a.uid}_${b.uid}` : `p2p_${b.uid}_${a.uid}`;

beforeAll(async () => {
  stage = await Stage.open();
  tenant = asTenantId(await stage.tenant('demo', ['alice', 'bob', 'carol', 'dave'], { recallWindowSeconds: 600 }));
  [one, two] = [await stage.inProcess(), await stage.inProcess()];
  const login = (name: string) => stage.login(one, 'demo', name);
  const [alice, bob, carol, dave] = await Promise.all(['alice', 'bob', 'carol', 'dave'].map(login));
  users = { alice, bob, carol, dave };
}, 90_000);
afterAll(() => stage.close());

/** A chat of two new users, each connected to a node of his own. */
async function chat(): Promise<{ topic: string; a: TestClient; b: TestClient; pair: [TestUser, TestUser] }> {
  number += 1;
  const names = [`left-${number}`, `right-${number}`];
  await stage.addUsers('demo', names);
  const pair = (await Promise.all(names.map((name) => stage.login(one, 'demo', name)))) as [TestUser, TestUser];
  const [a, b] = [await stage.connect(one, pair[0]), await stage.connect(two, pair[1], { subscribe: 'manual' })];
  return { topic: topicOf(...pair), a, b, pair };
}

describe('a private chat', () => {
  it('begins with its first message and reaches every socket of both on all nodes, without a subscription', async () => {
    const { topic, a, b, pair } = await chat();
    const [phone, outsider] = [await stage.connect(two, pair[0]), await stage.connect(one, users.carol)];
    const empty = await b.history(topic, {});
    expect(empty).toMatchObject({ ok: true, messages: [], stableSeq: 0, lastSeq: 0, hasMore: false });
    const clientMsgId = id();
    const ack = await a.send(topic, clientMsgId, 'hello');
    expect(ack).toMatchObject({ ok: true, seq: 1, duplicate: false });
    for (const client of [a, b, phone]) await until('the message comes', () => client.heard(topic).length > 0);
    const answer = await b.send(topic, id(), 'hello yourself', { replySeq: 1 });
    for (const client of [a, b, phone]) await until('the answer comes', () => client.heard(topic).length > 1);
    for (const client of [a, b, phone]) expect(client.heard(topic).map(({ seq }) => seq)).toEqual([1, 2]);
    expect(outsider.heard(topic)).toEqual([]);
    const page = await a.history(topic, { afterSeq: 0 });
    expect(page).toMatchObject({ stableSeq: 2, lastSeq: 2, nextAfterSeq: 2, source: 'mysql' });
    expect(page.messages).toEqual(b.heard(topic));
    expect(page.messages[0]).toMatchObject({
      ...{
        id: ack.messageId,
        from: pair[0].uid,
        clientMsgId,
        content: { text: 'hello' },
        status: 'normal',
        version: 1,
      },
    });
    expect(page.messages[1]).toMatchObject({ seq: answer.seq, replySeq: 1, from: pair[1].uid });
  });

  it('is nobody else’s: outsiders are refused at every door, and learn nothing', async () => {
    const { topic, a } = await chat();
    await a.send(topic, id(), 'between us');
    const carol = await stage.connect(one, users.carol);
    for (const ack of [
      await carol.send(topic, id(), 'let me in'),
      await carol.history(topic, {}),
      await carol.emit('message:edit', { topic, seq: 1, content: { text: 'x' }, version: 1 }),
      await carol.emit('message:recall', { topic, seq: 1 }),
      await carol.emit('message:remove', { topic, seq: 1 }),
      await carol.emit('message:delete', { topic, seqs: [1] }),
      await carol.emit('topic:changes', { topic, afterChange: 0 }),
      await carol.emit('topic:read', { topic, seq: 1 }),
    ]) {
      expect(ack).toMatchObject({ ok: false, error: { code: 'NOT_MEMBER' } });
    }
    const { topics } = (await carol.emit('topic:subscribe', { topics: [topic] })) as { topics?: unknown };
    expect(topics).toEqual([{ topic, error: expect.objectContaining({ code: 'NOT_MEMBER' }) }]);
    const token = users.carol.accessToken;
    const doors: [string, string, unknown?][] = [
      ['GET', 'messages'],
      ['POST', 'messages', { clientMsgId: id(), type: 'text', content: { text: 'x' } }],
      ['PATCH', 'messages/1', { content: { text: 'x' }, version: 1 }],
      ['POST', 'messages/1/recall', {}],
      ['DELETE', 'messages/1'],
      ['POST', 'messages/hide', { seqs: [1] }],
      ['GET', 'changes?afterChange=0'],
      ['PUT', 'cursor', { readSeq: 1 }],
    ];
    for (const [method, door, body] of doors) {
      const answer = await stage.call(one, method, `/v1/im/topics/${topic}/${door}`, { token, body });
      expect([door, answer.status, answer.body.code]).toEqual([door, 403, 'NOT_MEMBER']);
    }
  });

  it('has one name: uids in the other order are no topic, and nobody chats with himself or with nobody', async () => {
    const { topic, a } = await chat();
    const [, low, high] = topic.split('_');
    expect(await a.send(`p2p_${high}_${low}`, id(), 'x')).toMatchObject({ error: { code: 'VALIDATION_FAILED' } });
    expect(await a.send(`p2p_${low}_${low}`, id(), 'x')).toMatchObject({ error: { code: 'VALIDATION_FAILED' } });
    for (const ack of [await a.send(`p2p_${low}_999999999`, id(), 'x'), await a.history(`p2p_${low}_999999999`, {})]) {
      expect(ack).toMatchObject({ ok: false, error: { code: 'NOT_FOUND' } });
    }
    const chats = await stage.sql('demo', 'SELECT * FROM im_direct_chats WHERE topic = ?', [`p2p_${low}_999999999`]);
    expect(chats).toEqual([]);
  });

  it('opened by both sides at once, with many messages, loses and repeats nothing', async () => {
    const { topic, a, b } = await chat();
    const sends = Array.from({ length: 60 }, (_, index) => (index % 2 ? a : b).send(topic, id(), `m ${index}`));
    const acks = await Promise.all(sends);
    expect(acks.filter((ack) => !ack.ok)).toEqual([]);
    expect(acks.map(({ seq }) => seq).sort((x, y) => x - y)).toEqual(Array.from({ length: 60 }, (_, i) => i + 1));
    for (const client of [a, b]) {
      await until('all are heard', () => client.heard(topic).length >= 60);
      expect(new Set(client.heard(topic).map(({ seq }) => seq)).size).toBe(60);
      expect(client.heard(topic)).toHaveLength(60);
    }
    const pages = await a.historyFrom(topic, 0, 7);
    expect(pages.map(({ seq }) => seq)).toEqual(Array.from({ length: 60 }, (_, i) => i + 1));
    expect(await stage.sql('demo', 'SELECT uid FROM im_direct_chats WHERE topic = ?', [topic])).toHaveLength(2);
  });
});

describe('a retry in a private chat', () => {
  it('is answered with the first number on any node, told once, and refused with another body', async () => {
    const { topic, a, b, pair } = await chat();
    const again = await stage.connect(two, pair[0]);
    const clientMsgId = id();
    const acks = await Promise.all(
      Array.from({ length: 20 }, (_, index) => (index % 2 ? a : again).send(topic, clientMsgId, 'once')),
    );
    expect(acks.map(({ ok, seq }) => [ok, seq])).toEqual(acks.map(() => [true, 1]));
    expect(acks.filter(({ duplicate }) => !duplicate)).toHaveLength(1);
    expect(new Set(acks.map(({ messageId, createdAt }) => `${messageId} ${createdAt}`)).size).toBe(1);
    expect(await a.send(topic, clientMsgId, 'other')).toMatchObject({ error: { code: 'IDEMPOTENCY_CONFLICT' } });
    // The id is its sender's: the other side may use the same.
    expect(await b.send(topic, clientMsgId, 'mine')).toMatchObject({ ok: true, seq: 2, duplicate: false });
    await until('both are heard', () => b.heard(topic).length >= 2);
    expect(b.heard(topic).map(({ seq }) => seq)).toEqual([1, 2]);
  });
});

describe('blocks', () => {
  const block = async (from: TestUser, whom: TestUser): Promise<void> => {
    const body = { uid: whom.uid };
    const { status } = await stage.call(two, 'POST', '/v1/im/relations/blocklist', { token: from.accessToken, body });
    expect(status).toBeLessThan(300);
  };

  it('stop what is said, in either direction and before the chat begins, and leave what was said', async () => {
    const { topic, a, b, pair } = await chat();
    const clientMsgId = id();
    const { seq } = await a.send(topic, clientMsgId, 'before');
    await block(pair[1], pair[0]);
    for (const ack of [
      await a.send(topic, id(), 'after'),
      await b.send(topic, id(), 'after'),
      await a.emit('message:edit', { topic, seq, content: { text: 'after' }, version: 1 }),
    ]) {
      expect(ack).toMatchObject({ ok: false, error: { code: 'BLOCKED' } });
    }
    // What is stored is answered as such, and can be read, taken back and hidden.
    expect(await a.send(topic, clientMsgId, 'before')).toMatchObject({ ok: true, seq, duplicate: true });
    expect(await b.history(topic, {})).toMatchObject({ messages: [{ seq, content: { text: 'before' } }] });
    expect(await a.emit('message:recall', { topic, seq })).toMatchObject({ ok: true, version: 2 });
    const other = await chat();
    await block(other.pair[0], other.pair[1]);
    expect(await other.b.send(other.topic, id(), 'hi')).toMatchObject({ error: { code: 'BLOCKED' } });
    expect(await stage.sql('demo', 'SELECT 1 FROM im_direct_chats WHERE topic = ?', [other.topic])).toEqual([]);
  });

  it('hold when Redis lost the list, on every node and device, and end without releasing anything (B31)', async () => {
    const { topic, a, b, pair } = await chat();
    await a.send(topic, id(), 'before');
    await block(pair[1], pair[0]);
    const { nest } = one.application;
    const redis = nest.get(RedisClients, { strict: false }).command;
    const lists = pair.map(({ uid }) =>
      nest.get(RedisKeys, { strict: false }).of('relationBlocks', { t: tenant, uid }),
    );
    const second = await stage.connect(two, pair[0]);
    const refused = id();
    for (const client of [a, second]) {
      for (const key of lists) await redis.unlink(key);
      expect(await client.send(topic, refused, 'after')).toMatchObject({ error: { code: 'BLOCKED' } });
    }
    const body = { clientMsgId: refused, type: 'text', content: { text: 'after' } };
    const token = pair[0].accessToken;
    const byRest = await stage.call(two, 'POST', `/v1/im/topics/${topic}/messages`, { token, body });
    expect(byRest.body.code).toBe('BLOCKED');
    // Another entry does not make half a list whole.
    await redis.unlink(...lists);
    await block(pair[1], users.dave);
    expect(await a.send(topic, refused, 'after')).toMatchObject({ error: { code: 'BLOCKED' } });
    await stage.call(one, 'DELETE', `/v1/im/relations/blocklist/${pair[0].uid}`, { token: pair[1].accessToken });
    expect((await b.history(topic, {})).messages.map(({ seq }) => seq)).toEqual([1]);
    expect(await a.send(topic, refused, 'after')).toMatchObject({ ok: true, seq: 2, duplicate: false });
  });
});

describe('changes of private messages', () => {
  it('are told to both, kept for those who were away, and show no old content', async () => {
    const { topic, a, b } = await chat();
    for (const text of ['first', 'second', 'third']) await a.send(topic, id(), text);
    const edit = { topic, seq: 1, content: { text: 'better' }, version: 1 };
    expect(await a.emit('message:edit', edit)).toMatchObject({ ok: true, version: 2 });
    expect(await a.emit('message:edit', edit)).toMatchObject({ ok: true, version: 2 });
    expect(await a.emit('message:edit', { ...edit, content: { text: 'best' } })).toMatchObject({
      error: { code: 'CONFLICT' },
    });
    expect(await b.emit('message:edit', { ...edit, version: 2 })).toMatchObject({ error: { code: 'FORBIDDEN' } });
    expect(await b.emit('message:recall', { topic, seq: 2 })).toMatchObject({ error: { code: 'FORBIDDEN' } });
    expect(await b.emit('message:remove', { topic, seq: 2 })).toMatchObject({ error: { code: 'FORBIDDEN' } });
    expect(await a.emit('message:recall', { topic, seq: 9 })).toMatchObject({ error: { code: 'NOT_FOUND' } });
    expect(await a.emit('message:recall', { topic, seq: 2 })).toMatchObject({ ok: true, version: 2 });
    expect(await a.emit('message:recall', { topic, seq: 2 })).toMatchObject({ ok: true, version: 2 });
    for (const client of [a, b]) {
      await until('both changes come', () => client.events('message:changed').length >= 2);
      expect(client.events('message:changed')).toMatchObject([
        { seq: 1, change: 1, content: { text: 'better' } },
        { seq: 2, change: 2, status: 'recalled' },
      ]);
    }
    const changes = await b.emit('topic:changes', { topic, afterChange: 1 });
    expect(changes).toMatchObject({ changes: [{ seq: 2, status: 'recalled' }], lastChange: 2, hasMore: false });
    const { topics } = (await b.emit('topic:subscribe', { topics: [topic] })) as { topics?: unknown };
    expect(topics).toEqual([
      { topic, lastSeq: 3, stableSeq: 3, lastChange: 2, readSeq: 0, role: 'member', onlineCount: null },
    ]);
    const page = await b.history(topic, { afterSeq: 0 });
    expect(page.messages.map(({ content }) => content)).toEqual([{ text: 'better' }, null, { text: 'third' }]);
  });

  it('hide a message from one side alone, on all his devices', async () => {
    const { topic, a, b, pair } = await chat();
    const phone = await stage.connect(two, pair[0]);
    for (const text of ['one', 'two']) await b.send(topic, id(), text);
    expect(await a.emit('message:delete', { topic, seqs: [1, 77] })).toMatchObject({ ok: true });
    await until('the phone is told', () => phone.events('message:hidden').length > 0);
    expect(phone.events('message:hidden')).toEqual([{ topic, seqs: [1] }]);
    expect((await phone.history(topic, {})).messages.map(({ seq }) => seq)).toEqual([2]);
    expect(await phone.history(topic, { afterSeq: 0 })).toMatchObject({ nextAfterSeq: 2, stableSeq: 2 });
    expect((await b.history(topic, {})).messages.map(({ seq }) => seq)).toEqual([1, 2]);
    expect(b.events('message:hidden')).toEqual([]);
  });
});

describe('the file assistant', () => {
  it('is a chat with oneself on all own devices, and nobody else’s', async () => {
    const { a, b, pair } = await chat();
    const phone = await stage.connect(two, pair[0]);
    const topic = `self_${pair[0].uid}`;
    expect(await a.send(topic, id(), 'note')).toMatchObject({ ok: true, seq: 1 });
    const file = { objectKey: 'k/1', mime: 'text/plain', size: 3 };
    const sent = await phone.emit('message:send', { topic, clientMsgId: id(), type: 'file', content: file });
    expect(sent).toMatchObject({ ok: true, seq: 2 });
    for (const client of [a, phone]) {
      await until('both come', () => client.heard(topic).length >= 2);
      expect(client.heard(topic).map(({ seq }) => seq)).toEqual([1, 2]);
    }
    expect(b.heard(topic)).toEqual([]);
    expect(await b.send(topic, id(), 'x')).toMatchObject({ error: { code: 'NOT_MEMBER' } });
  });
});

describe('what private chats refuse', () => {
  it('mentions of all, references to nothing, and wrong content', async () => {
    const { topic, a } = await chat();
    await a.send(topic, id(), 'first');
    expect(await a.send(topic, id(), 'x', { mentionAll: true })).toMatchObject({ error: { code: 'FORBIDDEN' } });
    for (const wrong of [{ replySeq: 9 }, { rootSeq: 9 }, { content: { text: '' } }, { type: 'system' }]) {
      expect(await a.send(topic, id(), 'x', wrong)).toMatchObject({ error: { code: 'VALIDATION_FAILED' } });
    }
    expect(await a.history(topic, { afterSeq: 0, beforeSeq: 1 })).toMatchObject({
      error: { code: 'VALIDATION_FAILED' },
    });
    expect(await a.history(topic, {})).toMatchObject({ lastSeq: 1 });
  });
});
