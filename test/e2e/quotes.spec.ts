import { Redis } from 'ioredis';
import type { TestClient } from '../support/client.js';
import { Stage, type TestNode, type TestUser } from '../support/stage.js';
import { until } from '../support/until.js';

const MARKER = 'quokka-in-a-quote';

interface Quote {
  readonly seq: number;
  readonly text: string | null;
  readonly status: string;
  readonly version: number;
}

let stage: Stage;
let tenant: string;
let redis: Redis;
let one: TestNode;
let two: TestNode;
let [alice, bob, carol]: TestUser[] = [];
let topic: string;
let [a, b]: TestClient[] = [];
let number = 0;

beforeAll(async () => {
  stage = await Stage.open({ HOT_MIN_MEMBERS: '1' });
  tenant = await stage.tenant('demo', ['alice', 'bob', 'carol']);
  redis = new Redis(stage.servers.redis);
  [one, two] = [await stage.inProcess(), await stage.process()];
  [alice, bob, carol] = await Promise.all(['alice', 'bob', 'carol'].map((name) => stage.login(one, 'demo', name)));
}, 90_000);
afterAll(async () => {
  redis.disconnect();
  await stage.close();
});

beforeEach(async () => {
  topic = await stage.group(one, alice, [bob]);
  [a, b] = await Promise.all([stage.connect(one, alice), stage.connect(two, bob)]);
});

const say = async (client: TestClient, text: string, more: Record<string, unknown> = {}): Promise<number> => {
  number += 1;
  return (await client.send(topic, `m-${number}`, text, more)).seq;
};
const quoting = (client: TestClient, seq: number): Promise<number> => say(client, 'look', { head: { quote: seq } });

/** The next page comes from MySQL. */
const dropHot = (): Promise<number> =>
  redis.del(`${stage.environment.REDIS_KEY_PREFIX}:${tenant}:topic:{${topic}}:hot_msgs`);

/** The quotes of a page, by both sources; they must be the same. */
async function quotesOf(client: TestClient, query: Record<string, unknown> = {}): Promise<Quote[] | undefined> {
  await dropHot();
  const cold = await client.history(topic, query);
  expect(cold).toMatchObject({ ok: true, source: 'mysql' });
  const hot = await until('the page is hot', async () => {
    const page = await client.history(topic, query);
    return page.source === 'hot' && page;
  });
  const { quotes } = cold as unknown as { quotes?: Quote[] };
  expect((hot as unknown as { quotes?: Quote[] }).quotes).toEqual(quotes);
  return quotes;
}

/** The frame that told of a message. */
const frameOf = (client: TestClient, seq: number): Promise<{ quotes?: Quote[] }> =>
  until(`the frame of ${seq}`, () =>
    client
      .events('messages')
      .find((frame) => frame.topic === topic && (frame.messages as { seq: number }[]).some((one) => one.seq === seq)),
  );

describe('a quote', () => {
  it('shows the quoted text in pages from either source, by socket and by REST, and in frames', async () => {
    const quoted = await say(a, MARKER);
    const seq = await quoting(b, quoted);
    const quote = { seq: quoted, from: alice.uid, type: 'text', status: 'normal', version: 1, text: MARKER };
    for (const client of [a, b]) {
      expect((await frameOf(client, seq)).quotes).toEqual([quote]);
      // Both in one page; the quoted one outside of it; no quoting message in it.
      expect(await quotesOf(client)).toEqual([quote]);
      expect(await quotesOf(client, { afterSeq: quoted })).toEqual([quote]);
      expect(await quotesOf(client, { limit: 1 })).toEqual([quote]);
      expect(await quotesOf(client, { beforeSeq: seq })).toBeUndefined();
    }
    const path = `/v1/im/topics/${topic}/messages?afterSeq=${quoted}`;
    expect((await stage.call(two, 'GET', path, { token: bob.accessToken })).body).toMatchObject({ quotes: [quote] });
    const plain = await say(a, 'plain');
    expect(await frameOf(b, plain)).not.toHaveProperty('quotes');
  });

  it('follows what becomes of the quoted message: edited, recalled, removed, blocked', async () => {
    const seqs = [await say(b, 'first'), await say(b, MARKER), await say(b, MARKER), await say(b, MARKER)];
    const [edited, recalled, removed, blocked] = seqs;
    for (const seq of seqs) await quoting(b, seq);
    const last = blocked;
    expect(await quotesOf(a, { afterSeq: last })).toHaveLength(4);
    await b.emit('message:edit', { topic, seq: edited, content: { text: 'second' }, version: 1 });
    await b.emit('message:recall', { topic, seq: recalled });
    await a.emit('message:remove', { topic, seq: removed });
    await stage.call(one, 'POST', `/v1/admin/tenants/${tenant}/topics/${topic}/messages/${blocked}/block`, {
      token: stage.environment.ADMIN_TOKEN,
      body: {},
    });
    const expected = [
      { seq: edited, status: 'normal', version: 2, text: 'second' },
      { seq: recalled, status: 'recalled', version: 2, text: null },
      { seq: removed, status: 'deleted', version: 2, text: null },
      { seq: blocked, status: 'blocked', version: 2, text: null },
    ];
    for (const client of [a, b]) {
      expect(await quotesOf(client, { afterSeq: last })).toMatchObject(expected);
      expect(await quotesOf(client)).toMatchObject(expected);
      expect(JSON.stringify(await client.history(topic, { afterSeq: last }))).not.toContain(MARKER);
    }
    const again = await quoting(b, recalled);
    expect((await frameOf(a, again)).quotes).toMatchObject([expected[1]]);
  });

  it('of a quoting message that is gone is not shown either', async () => {
    const quoted = await say(a, MARKER);
    const seq = await quoting(b, quoted);
    await b.emit('message:recall', { topic, seq });
    expect(await quotesOf(a, { afterSeq: quoted })).toBeUndefined();
  });

  it('is not shown to a reader who deleted the quoted message for himself, nor in frames from then on', async () => {
    const quoted = await say(a, MARKER);
    await quoting(b, quoted);
    expect(await b.emit('message:delete', { topic, seqs: [quoted] })).toMatchObject({ ok: true });
    for (const client of [await stage.connect(one, bob), b]) {
      const page = await until('the page is hot', async () => {
        const answer = await client.history(topic, { afterSeq: quoted });
        return answer.source === 'hot' && answer;
      });
      expect(page).not.toHaveProperty('quotes');
      await dropHot();
      expect(await client.history(topic, { afterSeq: quoted })).not.toHaveProperty('quotes');
      expect(JSON.stringify(await client.history(topic, {}))).not.toContain(MARKER);
    }
    expect(await quotesOf(a, { afterSeq: quoted })).toMatchObject([{ seq: quoted, text: MARKER }]);
    const later = await quoting(a, quoted);
    for (const client of [a, b]) expect(await frameOf(client, later)).not.toHaveProperty('quotes');
  });

  it('tells new members nothing of what came before them, where history is closed to them', async () => {
    const quoted = await say(a, MARKER);
    const settings = { token: alice.accessToken, body: { historyForNewMembers: false } };
    expect((await stage.call(one, 'PATCH', `/v1/im/groups/${topic}/settings`, settings)).status).toBeLessThan(300);
    const uids = { token: alice.accessToken, body: { uids: [carol.uid] } };
    expect((await stage.call(one, 'POST', `/v1/im/groups/${topic}/members`, uids)).status).toBeLessThan(300);
    const c = await stage.connect(two, carol);
    const seq = await quoting(b, quoted);
    expect(await frameOf(c, seq)).not.toHaveProperty('quotes');
    expect(await quotesOf(c)).toBeUndefined();
    expect(JSON.stringify(await c.history(topic, {}))).not.toContain(MARKER);
    expect(await quotesOf(b, { afterSeq: quoted })).toMatchObject([{ seq: quoted, text: MARKER }]);
    // What came after she joined she may see quoted.
    const after = await say(a, 'after');
    await quoting(b, after);
    expect(await quotesOf(c)).toMatchObject([{ seq: after, text: 'after' }]);
  });

  it('of nothing, of itself or of the future is none', async () => {
    const first = await say(a, 'first');
    for (const ahead of [1, 2, 1_000]) await quoting(b, first + ahead);
    await quoting(b, Number.MAX_SAFE_INTEGER);
    expect(await quotesOf(a)).toBeUndefined();
  });

  it('is bounded in length and in number: the newest 64 of a page', async () => {
    const long = await say(a, '🐟'.repeat(1_000));
    const seqs: number[] = [];
    for (let index = 0; index < 70; index += 1) seqs.push(await say(a, `text ${index}`));
    for (const seq of seqs) await quoting(b, seq);
    const quotes = await quotesOf(a, { afterSeq: seqs[69], limit: 100 });
    expect(quotes!.map(({ seq }) => seq)).toEqual(seqs.slice(6));
    const last = await quoting(b, long);
    expect((await frameOf(a, last)).quotes).toMatchObject([{ seq: long, text: '🐟'.repeat(200) }]);
  });
});
