import type { TestClient } from '../../support/client.js';
import { Stage, type RestAnswer, type TestNode, type TestUser } from '../../support/stage.js';
import { until } from '../../support/until.js';

interface Favorite {
  readonly id: string;
  readonly topic: string;
  readonly seq: number;
  readonly message: { readonly content: object | null } | null;
}

interface Page {
  readonly items: Favorite[];
  readonly nextCursor: string | null;
}

let stage: Stage;
let one: TestNode;
let two: TestNode;
let alice: TestUser;
let bob: TestUser;
let topic: string;
let a: TestClient;

beforeAll(async () => {
  stage = await Stage.open();
  await stage.tenant('demo', ['alice', 'bob', 'carol']);
  [one, two] = [await stage.inProcess(), await stage.inProcess()];
  [alice, bob] = await Promise.all(['alice', 'bob'].map((name) => stage.login(one, 'demo', name)));
  topic = await stage.group(one, alice, [bob]);
  a = await stage.connect(two, alice);
  for (const text of ['one', 'two', 'three']) await a.send(topic, text, text);
}, 60_000);
afterAll(() => stage.close());

const ask = <T = Page>(user: TestUser, method: string, query = '', body?: unknown): Promise<RestAnswer<T>> =>
  stage.call<T>(one, method, `/v1/im/favorites${query}`, { token: user.accessToken, body });
const seqs = async (user: TestUser): Promise<number[]> =>
  (await ask(user, 'GET')).body.items.map((favorite) => favorite.seq);

describe('favourites', () => {
  it('are one’s own, the newest first, kept once, told to the own devices, and can be given up', async () => {
    expect(await seqs(bob)).toEqual([]);
    for (const seq of [1, 3, 1]) {
      const { status, body } = await ask<Favorite>(bob, 'POST', '', { topic, seq });
      expect([status, body.seq]).toEqual([201, seq]);
    }
    expect(await seqs(bob)).toEqual([3, 1]);
    expect(await seqs(alice)).toEqual([]);
    await ask(alice, 'POST', '', { topic, seq: 2 });
    await until('the other device is told', () => a.events('favorite:changed').length > 0);
    expect(a.events('favorite:changed')).toEqual([{ topic, seq: 2, kept: true }]);
    for (let time = 0; time < 2; time += 1) {
      expect((await ask(alice, 'DELETE', `?topic=${topic}&seq=2`)).status).toBe(204);
    }
    expect(await seqs(alice)).toEqual([]);
    expect(await seqs(bob)).toEqual([3, 1]);
  });

  it('come page by page', async () => {
    await ask(bob, 'POST', '', { topic, seq: 2 });
    const { body } = await ask(bob, 'GET', '?limit=2');
    expect(body.items.map(({ seq }) => seq)).toEqual([2, 3]);
    const rest = await ask(bob, 'GET', `?limit=2&cursor=${body.nextCursor}`);
    expect(rest.body).toMatchObject({ items: [{ seq: 1 }], nextCursor: null });
  });

  it('show messages as they are now, and nothing that their reader may not read any more', async () => {
    await a.emit('message:recall', { topic, seq: 3 });
    const { body } = await ask(bob, 'GET');
    const three = body.items.find(({ seq }) => seq === 3);
    expect(three?.message).toMatchObject({ status: 'recalled', content: null });
    await stage.call(one, 'DELETE', `/v1/im/groups/${topic}/members/${bob.uid}`, { token: alice.accessToken });
    expect((await ask(bob, 'GET')).body.items.map(({ message }) => message)).toEqual([null, null, null]);
    expect((await ask(bob, 'DELETE', `?topic=${topic}&seq=3`)).status).toBe(204);
    expect(await seqs(bob)).toEqual([2, 1]);
  });

  it('refuse what is no message, not readable, or malformed', async () => {
    const carol = await stage.login(one, 'demo', 'carol');
    expect((await ask(alice, 'POST', '', { topic, seq: 99 })).body.code).toBe('NOT_FOUND');
    expect((await ask(carol, 'POST', '', { topic, seq: 1 })).body.code).toBe('NOT_MEMBER');
    for (const body of [{ topic }, { seq: 1 }, { topic, seq: 0 }, { topic, seq: '1' }, { topic, seq: 1, more: 1 }]) {
      expect((await ask(alice, 'POST', '', body)).body.code).toBe('VALIDATION_FAILED');
    }
    for (const query of ['?limit=0', '?cursor=x', '?limit=1e2']) {
      expect((await ask(alice, 'GET', query)).body.code).toBe('VALIDATION_FAILED');
    }
  });
});
