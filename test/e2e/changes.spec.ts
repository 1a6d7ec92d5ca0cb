import type { TestClient } from '../support/client.js';
import { Stage, type TestNode, type TestUser } from '../support/stage.js';
import { until } from '../support/until.js';

const MARKER = 'zebra-in-the-hot-set';

let stage: Stage;
let one: TestNode;
let two: TestNode;
let alice: TestUser;
let bob: TestUser;
let carol: TestUser;
let dave: TestUser;
let topic: string;
let a: TestClient;
let b: TestClient;
let number = 0;

beforeAll(async () => {
  // Every group is hot from its first message on.
  stage = await Stage.open({ HOT_MIN_MEMBERS: '1' });
  await stage.tenant('demo', ['alice', 'bob', 'carol', 'dave'], { recallWindowSeconds: 600 });
  [one, two] = [await stage.inProcess(), await stage.process()];
  [alice, bob, carol, dave] = await Promise.all(
    ['alice', 'bob', 'carol', 'dave'].map((name) => stage.login(one, 'demo', name)),
  );
}, 90_000);
afterAll(() => stage.close());

beforeEach(async () => {
  topic = await stage.group(one, alice, [bob, carol]);
  [a, b] = await Promise.all([stage.connect(one, alice), stage.connect(two, bob)]);
});

const say = async (client: TestClient, text: string): Promise<number> => {
  number += 1;
  return (await client.send(topic, `m-${number}`, text)).seq;
};
const changed = (client: TestClient, seq: number): Record<string, unknown>[] =>
  client.events('message:changed').filter((change) => change.topic === topic && change.seq === seq);
/** Reads until the page comes from where it should. */
const pageFrom = (client: TestClient, source: 'hot' | 'mysql', query: object): Promise<Record<string, unknown>> =>
  until(`a page from ${source}`, async () => {
    const page = await client.history(topic, { ...query });
    return page.ok && page.source === source ? page : null;
  });

describe('edits', () => {
  it('change an own message for everybody, with a version that must be the present one', async () => {
    const seq = await say(b, 'first');
    const edit = { topic, seq, content: { text: 'second' }, version: 1 };
    const ack = await b.emit('message:edit', edit);
    expect(ack).toMatchObject({ ok: true, version: 2 });
    await until('alice is told', () => changed(a, seq).length === 1);
    expect(changed(a, seq)[0]).toMatchObject({ version: 2, status: 'normal', content: { text: 'second' }, change: 1 });
    // The acknowledgement was lost: the same edit again succeeds and is not told again.
    expect(await b.emit('message:edit', edit)).toMatchObject({ ok: true, version: 2 });
    expect(await b.emit('message:edit', { ...edit, content: { text: 'third' } })).toMatchObject({
      error: { code: 'CONFLICT' },
    });
    expect(await a.emit('message:edit', { ...edit, version: 2 })).toMatchObject({ error: { code: 'FORBIDDEN' } });
    const [message] = await a.historyFrom(topic);
    expect(message).toMatchObject({ seq, version: 2, content: { text: 'second' } });
    expect(changed(a, seq)).toHaveLength(1);
  });

  it('are refused to the muted, after the window, of what is gone, and with content that is wrong', async () => {
    const seq = await say(b, 'text');
    const edit = { topic, seq, content: { text: 'other' }, version: 1 };
    expect(await b.emit('message:edit', { ...edit, content: { objectKey: 'x' } })).toMatchObject({
      error: { code: 'VALIDATION_FAILED' },
    });
    expect(await b.emit('message:edit', { ...edit, seq: 99 })).toMatchObject({ error: { code: 'NOT_FOUND' } });
    await stage.sql('demo', 'UPDATE im_group_messages SET created_at = ? WHERE topic = ? AND seqid = ?', [
      new Date(Date.now() - 2 * 86_400_000),
      topic,
      seq,
    ]);
    expect(await b.emit('message:edit', edit)).toMatchObject({ error: { code: 'FORBIDDEN' } });
    await stage.call(one, 'PATCH', `/v1/im/groups/${topic}/members/${bob.uid}`, {
      token: alice.accessToken,
      body: { mutedUntil: new Date(Date.now() + 60_000).toISOString() },
    });
    expect(await b.emit('message:edit', edit)).toMatchObject({ error: { code: 'MUTED' } });
  });
});

describe('a recalled message', () => {
  it('is readable through no door any more, hot or not, on any node, and repeating the recall succeeds once', async () => {
    const before = await say(b, 'before');
    const seq = await say(b, MARKER);
    await say(a, 'after');
    for (const client of [a, b]) await pageFrom(client, 'hot', { afterSeq: 0 });
    expect(await b.emit('message:recall', { topic, seq })).toMatchObject({ ok: true, version: 2 });
    expect(await b.emit('message:recall', { topic, seq })).toMatchObject({ ok: true, version: 2 });
    for (const client of [a, b]) {
      const pages = [
        await client.history(topic, { afterSeq: 0 }),
        await client.history(topic, {}),
        await client.history(topic, { beforeSeq: seq + 1, limit: 1 }),
        await pageFrom(client, 'hot', { afterSeq: 0 }),
      ];
      for (const page of pages) {
        expect(JSON.stringify(page)).not.toContain(MARKER);
        const messages = page.messages as { seq: number; status: string; content: unknown }[];
        expect(messages.find((message) => message.seq === seq)).toMatchObject({ status: 'recalled', content: null });
      }
    }
    const changes = await a.emit('topic:changes', { topic, afterChange: 0 });
    expect(JSON.stringify(changes)).not.toContain(MARKER);
    expect(changes).toMatchObject({
      ok: true,
      lastChange: 1,
      hasMore: false,
      changes: [{ seq, status: 'recalled', change: 1 }],
    });
    await until('it was told', () => changed(a, seq).length === 1);
    expect(changed(a, seq)[0]).not.toHaveProperty('content');
    expect(before).toBeLessThan(seq);
  });

  it('belongs to its sender within the window, and to admins always', async () => {
    const seq = await say(b, 'mine');
    const c = await stage.connect(two, carol);
    const d = await stage.connect(two, dave);
    expect(await c.emit('message:recall', { topic, seq })).toMatchObject({ error: { code: 'FORBIDDEN' } });
    expect(await d.emit('message:recall', { topic, seq })).toMatchObject({ error: { code: 'NOT_MEMBER' } });
    await stage.sql('demo', 'UPDATE im_group_messages SET created_at = ? WHERE topic = ? AND seqid = ?', [
      new Date(Date.now() - 86_400_000),
      topic,
      seq,
    ]);
    expect(await b.emit('message:recall', { topic, seq })).toMatchObject({ error: { code: 'FORBIDDEN' } });
    expect(await a.emit('message:recall', { topic, seq })).toMatchObject({ ok: true });
    const log = await stage.sql('demo', 'SELECT actor, action FROM im_audit_logs WHERE target = ?', [
      `${topic}/${seq}`,
    ]);
    expect(log).toEqual([expect.objectContaining({ action: 'message.recall' })]);
  });

  it('stays gone when a hot set was being filled while it was recalled', async () => {
    await say(b, 'one');
    const seq = await say(b, MARKER);
    // The set is lost: every reader now fills it from MySQL, while the message is recalled again and again.
    for (let round = 0; round < 10; round += 1) {
      const other = await say(b, `${MARKER} ${round}`);
      const readers = Array.from({ length: 6 }, (_, index) =>
        (index % 2 ? a : b).history(topic, { afterSeq: 0, limit: 200 }),
      );
      const recall = a.emit('message:recall', { topic, seq: other });
      await Promise.all([...readers, recall]);
      const pages = await Promise.all([
        a.history(topic, { afterSeq: 0, limit: 200 }),
        b.history(topic, { limit: 200 }),
      ]);
      for (const page of pages) expect(JSON.stringify(page)).not.toContain(`${MARKER} ${round}`);
    }
    expect(seq).toBeGreaterThan(0);
  });
});

describe('removing', () => {
  it('is for admins, for everyone and audited', async () => {
    const seq = await say(b, 'bad words');
    expect(await b.emit('message:remove', { topic, seq })).toMatchObject({ error: { code: 'FORBIDDEN' } });
    expect(await a.emit('message:remove', { topic, seq })).toMatchObject({ ok: true, version: 2 });
    expect((await b.historyFrom(topic)).find((message) => message.seq === seq)).toMatchObject({
      status: 'deleted',
      content: null,
    });
    const [row] = await stage.sql<{ deleted_at: Date | null }>(
      'demo',
      'SELECT deleted_at FROM im_group_messages WHERE topic = ? AND seqid = ?',
      [topic, seq],
    );
    expect(row.deleted_at).not.toBeNull();
    expect(await b.emit('message:recall', { topic, seq })).toMatchObject({ error: { code: 'CONFLICT' } });
  });
});

describe('deleting for oneself', () => {
  it('hides a message from one member on all his devices, from hot pages and from MySQL, and from nobody else', async () => {
    const seqs = [await say(a, 'one'), await say(a, 'two'), await say(a, 'three')];
    const second = await stage.connect(one, bob);
    await pageFrom(b, 'hot', { afterSeq: 0 });
    expect(await b.emit('message:delete', { topic, seqs: [seqs[1], 77] })).toMatchObject({ ok: true });
    await until('the other device is told', () => second.events('message:hidden').length === 1);
    expect(second.events('message:hidden')[0]).toMatchObject({ topic, seqs: [seqs[1]] });
    for (let round = 0; round < 3; round += 1) {
      const page = await second.history(topic, { afterSeq: 0 });
      expect(page.messages.map((message) => message.seq)).toEqual([seqs[0], seqs[2]]);
      expect(page.nextAfterSeq).toBe(seqs[2]);
      expect((await a.history(topic, { afterSeq: 0 })).messages.map((message) => message.seq)).toEqual(seqs);
    }
  });
});

describe('hot pages', () => {
  it('are the same as those from MySQL, whatever the bounds and the limit', async () => {
    for (let index = 0; index < 12; index += 1) await say(index % 2 ? a : b, `text ${index}`);
    await stage.call(one, 'POST', `/v1/im/topics/${topic}/messages/3/recall`, { token: alice.accessToken });
    await a.emit('message:edit', { topic, seq: 4, content: { text: 'edited' }, version: 1 });
    const queries = [
      ...[0, 1, 5, 11, 12, 50].flatMap((afterSeq) => [1, 3, 12, 50].map((limit) => ({ afterSeq, limit }))),
      ...[1, 2, 7, 12, 13, 50].flatMap((beforeSeq) => [1, 3, 50].map((limit) => ({ beforeSeq, limit }))),
      ...[1, 5, 50].map((limit) => ({ limit })),
    ];
    await pageFrom(a, 'hot', { afterSeq: 0, limit: 50 });
    const hot = await Promise.all(queries.map((query) => a.history(topic, query)));
    expect(new Set(hot.map((page) => page.source))).toEqual(new Set(['hot']));
    // Carol has hidden something of another group's range: her own deletion here sends her to MySQL.
    const c = await stage.connect(two, carol);
    await stage.sql('demo', 'INSERT INTO im_message_hides (uid, topic, seqid, created_at) VALUES ?', [
      Array.from({ length: 1_001 }, (_, index) => [carol.uid, topic, 1_000 + index, new Date()]),
    ]);
    const cold = await Promise.all(queries.map((query) => c.history(topic, query)));
    expect(new Set(cold.map((page) => page.source))).toEqual(new Set(['mysql']));
    const bare = (page: Record<string, unknown>): object => ({ ...page, source: null });
    expect(hot.map(bare)).toEqual(cold.map(bare));
  });

  it('are never served to a member who was kicked', async () => {
    await say(a, 'inside');
    await pageFrom(b, 'hot', { afterSeq: 0 });
    await stage.call(one, 'DELETE', `/v1/im/groups/${topic}/members/${bob.uid}`, { token: alice.accessToken });
    expect(await b.history(topic, { afterSeq: 0 })).toMatchObject({ ok: false, error: { code: 'NOT_MEMBER' } });
  });
});

describe('mentions and references', () => {
  it('mentionAll is for admins; a reply must refer to a message', async () => {
    const seq = (await b.send(topic, 'plain', 'plain')).seq;
    expect(await b.send(topic, 'all', 'all', { mentionAll: true })).toMatchObject({ error: { code: 'FORBIDDEN' } });
    expect(await a.send(topic, 'all', 'all', { mentionAll: true })).toMatchObject({ ok: true });
    expect(await b.send(topic, 'reply', 'yes', { replySeq: seq, rootSeq: seq })).toMatchObject({ ok: true });
    expect(await b.send(topic, 'lost', 'yes', { replySeq: 999 })).toMatchObject({
      error: { code: 'VALIDATION_FAILED' },
    });
    const stored = await a.historyFrom(topic);
    expect(stored.find((message) => message.clientMsgId === 'reply')).toMatchObject({ replySeq: seq, rootSeq: seq });
    expect(stored.find((message) => message.clientMsgId === 'all')).toMatchObject({ mentionAll: true });
  });

  it('mentionAll has its own limit', async () => {
    for (let index = 0; index < 10; index += 1) {
      expect(await a.send(topic, `all-${index}`, 'all', { mentionAll: true })).toMatchObject({ ok: true });
    }
    const refused = await a.send(topic, 'all-10', 'all', { mentionAll: true });
    expect(refused).toMatchObject({ error: { code: 'RATE_LIMITED', retryable: true } });
    // A retry of one that is stored is answered all the same.
    expect(await a.send(topic, 'all-3', 'all', { mentionAll: true })).toMatchObject({ ok: true, duplicate: true });
  });
});
