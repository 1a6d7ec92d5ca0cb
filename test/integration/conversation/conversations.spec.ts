import type { TestClient } from '../../support/client.js';
import { PresenceRig } from '../../support/presence.js';
import { Stage, type RestAnswer, type TestNode, type TestUser } from '../../support/stage.js';
import { until } from '../../support/until.js';

let stage: Stage;
let presence: PresenceRig;
let one: TestNode;
let two: TestNode;
let alice: TestUser;
let bob: TestUser;
let carol: TestUser;
let a: TestClient;
let b: TestClient;
let group: string;
let chat: string;
let number = 0;

interface Item {
  readonly topic: string;
  readonly [field: string]: unknown;
}

beforeAll(async () => {
  stage = await Stage.open();
  const tenant = await stage.tenant('demo', ['alice', 'bob', 'carol']);
  presence = await PresenceRig.open(stage, tenant);
  [one, two] = [await stage.inProcess(), await stage.inProcess()];
  [alice, bob, carol] = await Promise.all(['alice', 'bob', 'carol'].map((name) => stage.login(one, 'demo', name)));
  group = await stage.group(one, alice, [bob, carol], 'Lobby');
  const [low, high] = [alice.uid, bob.uid].sort((x, y) => Number(BigInt(x) - BigInt(y)));
  chat = `p2p_${low}_${high}`;
  [a, b] = [await stage.connect(one, alice), await stage.connect(two, bob)];
}, 60_000);
afterAll(async () => {
  presence.close();
  await stage.close();
});

const rest = <T = Record<string, unknown>>(
  user: TestUser,
  method: string,
  path: string,
  body?: unknown,
): Promise<RestAnswer<T>> => stage.call<T>(two, method, path, { token: user.accessToken, body });
const say = async (client: TestClient, topic: string, text = 'text'): Promise<number> => {
  number += 1;
  return (await client.send(topic, `c-${number}`, text)).seq;
};
const list = async (user: TestUser): Promise<Item[]> =>
  (await rest<{ items: Item[] }>(user, 'GET', '/v1/im/topics')).body.items;

describe('the list of conversations', () => {
  it('has groups, private chats and the file assistant, with what was said last and the other side', async () => {
    await say(a, group, 'to all');
    await say(a, chat, 'to bob');
    await say(a, `self_${alice.uid}`, 'note');
    const items = await list(alice);
    expect(items.map(({ topic }) => topic)).toEqual([group, chat, `self_${alice.uid}`]);
    expect(items[0]).toMatchObject({ name: 'Lobby', unread: 0, muted: false, pinned: false });
    const last = { content: { text: 'to bob' } };
    expect(items[1]).toMatchObject({ name: 'bob', peer: { uid: bob.uid, nickname: 'bob' }, lastMessage: last });
    await until('bob is seen', async () => {
      const found = (await list(alice))[1].presence as { uid: string; state: string };
      return found.uid === bob.uid && found.state === 'online';
    });
    expect(items[2]).toMatchObject({ name: '', lastMessage: { content: { text: 'note' } } });
    expect(JSON.stringify(items)).not.toMatch(/account|password/);
    const bobs = await list(bob);
    expect(bobs.map(({ topic }) => topic)).toEqual([group, chat]);
    expect(bobs[1]).toMatchObject({ name: 'alice', unread: 1 });
    expect((await list(carol)).map(({ topic }) => topic)).toEqual([group]);
  });

  it('comes page by page, each conversation once, whatever the limit', async () => {
    const all = (await list(alice)).map(({ topic }) => topic);
    for (const limit of [1, 2, 3]) {
      const topics: string[] = [];
      for (let cursor = ''; ;) {
        const { body } = await rest<{ items: Item[]; nextCursor: string | null }>(
          ...([alice, 'GET', `/v1/im/topics?limit=${limit}${cursor}`] as const),
        );
        topics.push(...body.items.map(({ topic }) => topic));
        if (body.nextCursor === null) break;
        cursor = `&cursor=${body.nextCursor}`;
      }
      expect(topics).toEqual(all);
    }
  });
});

describe('muting and pinning', () => {
  it('are one’s own, keep what is not given, and need the conversation to be one’s own', async () => {
    const path = `/v1/im/topics/${chat}`;
    expect((await rest(alice, 'PATCH', path, { muted: true })).body).toEqual({ muted: true, pinned: false });
    expect((await rest(alice, 'PATCH', path, { pinned: true })).body).toEqual({ muted: true, pinned: true });
    expect((await rest(alice, 'PATCH', path, { muted: false })).body).toEqual({ muted: false, pinned: true });
    expect((await list(alice)).find(({ topic }) => topic === chat)).toMatchObject({ muted: false, pinned: true });
    expect((await list(bob)).find(({ topic }) => topic === chat)).toMatchObject({ muted: false, pinned: false });
    expect((await rest(carol, 'PATCH', path, { muted: true })).body.code).toBe('NOT_MEMBER');
    for (const wrong of [{ muted: 1 }, { pinned: 'yes' }, { loud: true }]) {
      expect((await rest(alice, 'PATCH', path, wrong)).body.code).toBe('VALIDATION_FAILED');
    }
  });
});

describe('cursors', () => {
  it('are told to own devices and to the other side, once, and not when nothing moved', async () => {
    const phone = await stage.connect(two, alice);
    const seq = await say(b, chat);
    const cursors = (client: TestClient): unknown[] =>
      client.events('topic:cursor').filter((event) => event.topic === chat && event.readSeq === seq);
    await a.emit('topic:read', { topic: chat, seq });
    await a.emit('topic:read', { topic: chat, seq });
    await a.emit('topic:read', { topic: chat, seq: 1 });
    for (const client of [a, phone, b]) await until('the cursor comes', () => cursors(client).length > 0);
    // A later frame of the same way shows that no second one is under way.
    const last = await say(b, chat);
    for (const client of [a, phone, b]) {
      await until('the message comes', () => client.heard(chat).some((message) => message.seq === last));
      expect(cursors(client)).toEqual([{ topic: chat, uid: alice.uid, readSeq: seq, receivedSeq: seq }]);
    }
  });

  it('are told to the members of small groups, and to nobody who blocks', async () => {
    const c = await stage.connect(two, carol);
    const seq = await say(a, group);
    await b.emit('topic:received', { topic: group, seq });
    const told = (client: TestClient): Record<string, unknown>[] =>
      client.events('topic:cursor').filter((event) => event.topic === group && event.uid === bob.uid);
    for (const client of [a, b, c]) await until('the cursor comes', () => told(client).length > 0);
    for (const client of [a, b, c]) expect(told(client)).toMatchObject([{ receivedSeq: seq }]);
    const pair = `p2p_${[bob.uid, carol.uid].sort((x, y) => Number(BigInt(x) - BigInt(y))).join('_')}`;
    const first = await say(c, pair);
    await rest(carol, 'POST', '/v1/im/relations/blocklist', { uid: bob.uid });
    await b.emit('topic:read', { topic: pair, seq: first });
    // What comes after it on the same way is there.
    const next = await say(a, group);
    await until('the message comes', () => c.heard(group).some((message) => message.seq === next));
    expect(c.events('topic:cursor').filter((event) => event.topic === pair)).toEqual([]);
  });
});

describe('the first screen', () => {
  it('has profile, conversations and unread total; messages are as they are now, counts follow own changes', async () => {
    await say(b, chat, 'first');
    const { body } = await rest(alice, 'GET', '/v1/im/bootstrap');
    expect(body).toMatchObject({ user: { uid: alice.uid, account: 'alice' }, serverTime: expect.any(String) });
    const seq = await say(b, chat, 'second');
    const read = async (): Promise<{ topics: { items: Item[] }; totalUnread: number }> =>
      (await rest<{ topics: { items: Item[] }; totalUnread: number }>(alice, 'GET', '/v1/im/bootstrap')).body;
    const item = (screen: { topics: { items: Item[] } }): Item =>
      screen.topics.items.find(({ topic }) => topic === chat)!;
    expect(item(await read()).lastMessage).toMatchObject({ seq, content: { text: 'second' } });
    await a.emit('topic:read', { topic: chat, seq });
    expect(item(await read())).toMatchObject({ readSeq: seq, unread: 0 });
    await b.emit('message:recall', { topic: chat, seq });
    expect(item(await read()).lastMessage).toMatchObject({ seq, status: 'recalled', content: null });
  });

  it('leaves out a group at once when he is no longer in it', async () => {
    const other = await stage.group(one, bob, [alice], 'Other');
    const topics = async (): Promise<string[]> =>
      (await rest<{ topics: { items: Item[] } }>(alice, 'GET', '/v1/im/bootstrap')).body.topics.items.map(
        ({ topic }) => topic,
      );
    await until('the group is there', async () => (await topics()).includes(other), 15_000);
    await rest(bob, 'DELETE', `/v1/im/groups/${other}/members/${alice.uid}`);
    expect(await topics()).not.toContain(other);
  }, 30_000);
});
