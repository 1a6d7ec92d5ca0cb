import type { SendHandle, StoragePort, StoredState, TridentClient } from '../src/index.js';
import type { FakeServer } from './support/fake-server.js';
import { until } from './support/random.js';
import { connect, LOBBY, signIn, startServer } from './support/start.js';

const refusal = (code: string, retryable: boolean): object => ({
  ok: false,
  error: { code, message: code, retryable },
});
const texts = (server: FakeServer): unknown[] =>
  server
    .topic(LOBBY)
    .messages()
    .map(({ content }) => content && 'text' in content && content.text);

describe('the send queue', () => {
  let server: FakeServer;
  const clients: TridentClient[] = [];
  const use = (client: TridentClient): TridentClient => {
    clients.push(client);
    return client;
  };

  beforeEach(async () => {
    server = await startServer();
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.close();
    await server.stop();
  });

  it('keeps what was sent before the connection, in order, and tells pending and sent', async () => {
    const client = use(await signIn(server.url));
    const states: string[] = [];
    client.on('send', ({ payload, state }) => states.push(`${JSON.stringify(payload.content)} ${state}`));
    const handles = ['one', 'two'].map((text) => client.topic(LOBBY).sendText(text));
    expect(handles.map(({ state }) => state)).toEqual(['pending', 'pending']);
    expect(client.topic(LOBBY).pending()).toEqual(handles);
    await client.connect();
    expect(await handles[1].outcome).toMatchObject({ state: 'sent', seq: 2, duplicate: false });
    expect(texts(server)).toEqual(['one', 'two']);
    expect(states).toEqual([
      '{"text":"one"} pending',
      '{"text":"two"} pending',
      '{"text":"one"} sent',
      '{"text":"two"} sent',
    ]);
    expect(client.pending()).toEqual([]);
  });

  it('repeats a refused send with the same client id and holds the next one back', async () => {
    const client = use(await connect(server.url));
    server.refusals.set('message:send', [refusal('SEQ_UNAVAILABLE', true), refusal('IN_PROGRESS', true)]);
    const first = client.topic(LOBBY).sendText('first');
    const second = client.topic(LOBBY).sendText('second');
    await second.outcome;
    const ids = server.calls.filter(({ event }) => event === 'message:send').map(({ body }) => body.clientMsgId);
    expect(ids).toEqual([first.clientMsgId, first.clientMsgId, first.clientMsgId, second.clientMsgId]);
    expect(first.attempts).toBe(3);
    expect(texts(server)).toEqual(['first', 'second']);
  });

  it('fails what can never succeed and goes on with the next', async () => {
    const client = use(await connect(server.url));
    server.refusals.set('message:send', [refusal('MUTED', false)]);
    const muted = client.topic(LOBBY).sendText('muted');
    const next = client.topic(LOBBY).sendText('next');
    expect(await muted.outcome).toMatchObject({ state: 'failed', error: { code: 'MUTED', retryable: false } });
    expect(await next.outcome).toMatchObject({ state: 'sent' });
    expect(texts(server)).toEqual(['next']);
  });

  it('stores a message once when its ack is lost, and gets the stored copy', async () => {
    const client = use(await connect(server.url));
    const shown: number[] = [];
    client.on('message', ({ message }) => shown.push(message.seq));
    server.chaos = { ...server.chaos, loseAck: 1 };
    const handle = client.topic(LOBBY).sendText('once');
    await until('a second try', () => handle.attempts > 1);
    server.chaos = { ...server.chaos, loseAck: 0 };
    expect(await handle.outcome).toMatchObject({ state: 'sent', seq: 1, duplicate: true });
    expect(texts(server)).toEqual(['once']);
    expect(shown).toEqual([1]);
  });

  it('is bounded, refuses beyond that at once, and lets an untried message be taken back', async () => {
    const client = use(await signIn(server.url, 'alice', { maxQueuedSends: 2 }));
    const topic = client.topic(LOBBY);
    const handles: SendHandle[] = ['one', 'two', 'three'].map((text) => topic.sendText(text));
    expect(await handles[2].outcome).toMatchObject({ state: 'failed', error: { code: 'QUEUE_FULL' } });
    expect(handles[0].cancel()).toBe(true);
    expect(await handles[0].outcome).toMatchObject({ state: 'failed', error: { code: 'CANCELLED' } });
    await client.connect();
    await handles[1].outcome;
    expect(handles[1].cancel()).toBe(false);
    expect(texts(server)).toEqual(['two']);
  });

  it('takes the same client id again for the same send, and sends a copy of what it was given', async () => {
    const client = use(await signIn(server.url));
    const draft = { type: 'text' as const, content: { text: 'as given' }, clientMsgId: 'mine' };
    const handle = client.topic(LOBBY).send(draft);
    expect(client.topic(LOBBY).send(draft)).toBe(handle);
    draft.content.text = 'changed later';
    await client.connect();
    await handle.outcome;
    expect(texts(server)).toEqual(['as given']);
  });

  it('hands unsent messages and cursors to the storage and goes on with them in the next run', async () => {
    const saved = new Map<string, StoredState>();
    const storage: StoragePort = {
      load: async (account) => saved.get(account),
      save: async (account, state) => void saved.set(account, structuredClone(state)),
    };
    const first = await connect(server.url, 'alice', { storage });
    await first.topic(LOBBY).sendText('before').outcome;
    await until('the cursor', () => first.topic(LOBBY).cursor === 1);
    server.refusals.set(
      'message:send',
      Array.from({ length: 50 }, () => refusal('OVERLOADED', true)),
    );
    const unsent = first.topic(LOBBY).sendText('unsent');
    await until('one try', () => unsent.attempts > 0);
    await first.close();
    expect(await unsent.outcome).toMatchObject({ state: 'failed', error: { code: 'CLOSED' } });
    expect(saved.get('1/1')).toMatchObject({ topics: [{ topic: LOBBY, cursor: 1 }], outbox: [unsent.payload] });

    server.refusals.clear();
    server.topic(LOBBY).store(server.topic(LOBBY).number(), '2');
    const second = use(await signIn(server.url, 'alice', { storage }));
    const shown: number[] = [];
    second.on('message', ({ message }) => shown.push(message.seq));
    await second.connect();
    await until('everything', () => second.topic(LOBBY).cursor === 3);
    expect(shown.sort()).toEqual([2, 3]);
    expect(server.topic(LOBBY).rows.get(3)?.clientMsgId).toBe(unsent.clientMsgId);
  });

  it('shows a message that an earlier run had stored as it is now, not as it was sent', async () => {
    const first = await connect(server.url);
    const { payload } = first.topic(LOBBY).sendText('recalled since');
    await until('it is stored', () => server.topic(LOBBY).rows.size === 1);
    await first.close();
    server.topic(LOBBY).change(1, 'recalled');

    const state: StoredState = {
      version: 1,
      topics: [{ topic: LOBBY, cursor: 0, changeCursor: 0 }],
      outbox: [payload],
    };
    const storage: StoragePort = { load: async () => state, save: async () => undefined };
    const second = use(await signIn(server.url, 'alice', { storage }));
    const contents: unknown[] = [];
    second.on('message', ({ message }) => contents.push(message.content));
    const [handle] = await second.connect().then(() => second.pending());
    expect(await handle.outcome).toMatchObject({ state: 'sent', seq: 1, duplicate: true });
    await until('it is here', () => second.topic(LOBBY).cursor === 1);
    expect(contents).toEqual([null]);
  });
});
