import type { TestClient } from '../support/client.js';
import { Stage, type TestNode, type TestUser } from '../support/stage.js';
import { until } from '../support/until.js';

/** Text that other systems went on showing after it was recalled, and changes that a client missed. */
const MARKER = 'walrus-in-the-attic';

let stage: Stage;
let one: TestNode;
let two: TestNode;
let alice: TestUser;
let bob: TestUser;
let a: TestClient;
let b: TestClient;
let topic: string;

beforeAll(async () => {
  // Every group is hot from its first message on.
  stage = await Stage.open({ HOT_MIN_MEMBERS: '1' });
  await stage.tenant('demo', ['alice', 'bob']);
  [one, two] = [await stage.inProcess(), await stage.process()];
  [alice, bob] = await Promise.all(['alice', 'bob'].map((name) => stage.login(one, 'demo', name)));
}, 60_000);
afterAll(() => stage.close());

beforeEach(async () => {
  topic = await stage.group(one, alice, [bob]);
  [a, b] = await Promise.all([stage.connect(one, alice), stage.connect(two, bob)]);
});

const tolds = (client: TestClient): Record<string, unknown>[] =>
  client.events('message:changed').filter((change) => change.topic === topic);

/** Everything that a member can read of the topic. */
async function everything(client: TestClient, node: TestNode, user: TestUser): Promise<string> {
  const rest = (path: string): Promise<unknown> => stage.call(node, 'GET', path, { token: user.accessToken });
  return JSON.stringify([
    await client.history(topic, {}),
    await client.history(topic, { afterSeq: 0, limit: 200 }),
    await client.history(topic, { beforeSeq: 100, limit: 1 }),
    await client.emit('topic:changes', { topic, afterChange: 0 }),
    await client.emit('topic:subscribe', { topics: [topic] }),
    await rest('/v1/im/topics'),
    await rest(`/v1/im/topics/${topic}/messages?afterSeq=0`),
    await rest(`/v1/im/topics/${topic}/changes?afterChange=0`),
  ]);
}

describe('B35: a recalled text', () => {
  it('is gone from quotes, replies, forwards, the conversation list, other devices and those who were away', async () => {
    const phone = await stage.connect(two, alice);
    const { seq } = await b.send(topic, 'secret', MARKER, { mentionedUserIds: [alice.uid] });
    const edited = await b.emit('message:edit', { topic, seq, version: 1, content: { text: `${MARKER} again` } });
    expect(edited).toMatchObject({ ok: true, version: 2 });
    await a.send(topic, 'reply', 'yes', { replySeq: seq, rootSeq: seq, head: { quote: seq } });
    await a.send(topic, 'forward', 'look', { head: { forwarded: { topic, seq } } });
    // It is the last message of everybody's list at that moment, and in the hot set.
    await b.send(topic, 'last', MARKER);
    for (const [client, node, user] of [
      [a, one, alice],
      [b, two, bob],
    ] as const) {
      expect(await everything(client, node, user)).toContain(MARKER);
    }
    phone.close();
    for (const number of [seq, seq + 3]) {
      expect(await b.emit('message:recall', { topic, seq: number })).toMatchObject({ ok: true });
    }
    const back = await stage.connect(two, alice);
    for (const [client, node, user] of [
      [a, one, alice],
      [b, two, bob],
      [back, two, alice],
    ] as const) {
      expect(await everything(client, node, user)).not.toContain(MARKER);
    }
    const stored = await back.historyFrom(topic);
    expect(stored.map((message) => message.status)).toEqual(['recalled', 'normal', 'normal', 'recalled']);
    expect(stored[1]).toMatchObject({ replySeq: seq, head: { quote: seq } });
    // A retry of the send tells where it was stored, not what it said.
    const retry = await b.send(topic, 'last', MARKER);
    expect(retry).toMatchObject({ ok: true, seq: seq + 3, duplicate: true });
    expect(await everything(a, one, alice)).not.toContain(MARKER);
  });

  it('ends recalled whichever comes first: the second recall, an edit, a removal or the frame', async () => {
    const { seq } = await b.send(topic, 'once', MARKER);
    const recall = { topic, seq };
    const edit = { topic, seq, version: 1, content: { text: `${MARKER} edited` } };
    const acks = await Promise.all([
      b.emit('message:recall', recall),
      b.emit('message:edit', edit),
      a.emit('message:recall', recall),
      b.emit('message:recall', recall),
    ]);
    expect(acks.filter((_ack, index) => index !== 1).every((ack) => ack.ok)).toBe(true);
    expect(await b.emit('message:edit', { ...edit, version: 2 })).toMatchObject({ error: { code: 'CONFLICT' } });
    const [last] = await a.historyFrom(topic);
    expect(last).toMatchObject({ seq, status: 'recalled', content: null });
    const count = last.version - 1;
    await until('both are told of every change', () => [a, b].every((client) => tolds(client).length >= count));
    for (const client of [a, b]) {
      // The two nodes may overtake each other; the change numbers say the order, and the end is the recall, told once.
      const told = tolds(client).sort((x, y) => Number(x.change) - Number(y.change));
      expect(told.map((change) => change.change)).toEqual(Array.from({ length: count }, (_, index) => index + 1));
      expect(told.filter((change) => change.status === 'recalled')).toHaveLength(1);
      expect(told.at(-1)).toMatchObject({ status: 'recalled', version: last.version });
    }
    expect(await everything(b, two, bob)).not.toContain(MARKER);
  });

  it('that is not there yet, or never was, cannot be recalled', async () => {
    expect(await b.emit('message:recall', { topic, seq: 1 })).toMatchObject({ error: { code: 'NOT_FOUND' } });
    const { seq } = await b.send(topic, 'later', MARKER);
    expect((await a.historyFrom(topic))[0]).toMatchObject({ seq, status: 'normal' });
  });
});

describe('B18: a client that was away', () => {
  it('gets what it missed exactly once although a newer message came first, and the changes of what it had', async () => {
    for (let seq = 1; seq <= 10; seq += 1) await b.send(topic, `m${seq}`, `text ${seq}`);
    const held = await a.historyFrom(topic);
    const known = Number((await a.emit('topic:changes', { topic, afterChange: 0 })).lastChange);
    a.close();
    for (let seq = 11; seq <= 20; seq += 1) await b.send(topic, `m${seq}`, `text ${seq}`);
    await b.emit('message:recall', { topic, seq: 5 });
    await b.emit('message:edit', { topic, seq: 7, version: 1, content: { text: 'edited' } });
    // Back again: 21 is live before anything was pulled.
    const again = await stage.connect(one, alice);
    await b.send(topic, 'm21', 'text 21');
    await until('21 is live', () => again.heard(topic).some((message) => message.seq === 21));
    const pulled = await again.historyFrom(topic, held.at(-1)!.seq, 3);
    expect(pulled.map((message) => message.seq)).toEqual([11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21]);
    const changes = await again.emit('topic:changes', { topic, afterChange: known });
    expect(changes).toMatchObject({
      ok: true,
      hasMore: false,
      changes: [
        { seq: 5, status: 'recalled' },
        { seq: 7, status: 'normal', content: { text: 'edited' } },
      ],
    });
  });
});
