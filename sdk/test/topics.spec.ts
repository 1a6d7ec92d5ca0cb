import type { TridentClient } from '../src/index.js';
import type { FakeServer } from './support/fake-server.js';
import { until } from './support/random.js';
import { connect, LOBBY, startServer } from './support/start.js';

const addMessages = (server: FakeServer, count: number): void => {
  const topic = server.topic(LOBBY);
  for (let i = 0; i < count; i += 1) topic.store(topic.number(), '2');
};

describe('a topic', () => {
  let server: FakeServer;
  let client: TridentClient;
  const seqs = (): number[] =>
    client
      .topic(LOBBY)
      .messages()
      .map(({ seq }) => seq);
  const count = (event: string): number => server.calls.filter((call) => call.event === event).length;
  const reconnect = async (meanwhile: () => void): Promise<void> => {
    await server.stop();
    meanwhile();
    await server.start();
    await until('the return', () => client.state === 'online');
  };

  beforeEach(async () => {
    server = await startServer();
  });
  afterEach(async () => {
    await client.close();
    await server.stop();
  });

  it('starts a new device at the newest page without telling old messages as new, and pages backwards', async () => {
    addMessages(server, 120);
    client = await connect(server.url);
    const told: number[] = [];
    client.on('message', ({ message }) => told.push(message.seq));
    const topic = client.topic(LOBBY);
    await until('the start', () => topic.cursor === 120);
    expect([seqs()[0], seqs().length]).toEqual([71, 50]);
    expect((await topic.loadOlder(40)).hasMore).toBe(true);
    const last = await topic.loadOlder(40);
    expect(last.hasMore).toBe(false);
    expect(last.messages.map(({ seq }) => seq)).toEqual(Array.from({ length: 30 }, (_, i) => i + 1));
    expect(seqs()).toHaveLength(120);
    expect(told).toEqual([]);
  });

  it('keeps the newest messages only', async () => {
    client = await connect(server.url, 'alice', { windowSize: 10 });
    await until('the start', () => client.topic(LOBBY).cursor === 0);
    await reconnect(() => addMessages(server, 300));
    await until('the end', () => client.topic(LOBBY).cursor === 300);
    expect(seqs()).toEqual(Array.from({ length: 10 }, (_, i) => 291 + i));
  });

  it('pulls from the last contiguous message after a loss, although a newer one came first', async () => {
    addMessages(server, 10);
    client = await connect(server.url);
    await until('the start', () => client.topic(LOBBY).cursor === 10);
    addMessages(server, 10);
    const late = server.topic(LOBBY).store(server.topic(LOBBY).number());
    const ordered: number[] = [];
    client.on('ordered', ({ message }) => ordered.push(message.seq));
    server.publish('messages', { topic: LOBBY, messages: [late], voids: [], stableSeq: 21 });
    await until('it is shown', () => seqs().includes(21));
    expect(client.topic(LOBBY).cursor).toBe(10);
    await until('the repair', () => client.topic(LOBBY).cursor === 21);
    expect(ordered).toEqual(Array.from({ length: 11 }, (_, i) => 11 + i));
  });

  it('asks again while a number is in flight, and does not pass it', async () => {
    client = await connect(server.url);
    await until('the start', () => client.topic(LOBBY).cursor === 0);
    const topic = server.topic(LOBBY);
    const hanging = topic.number();
    const next = topic.store(topic.number());
    server.publish('messages', { topic: LOBBY, messages: [next], voids: [], stableSeq: 2 });
    const before = count('message:history');
    await until('three pulls', () => count('message:history') >= before + 3);
    expect(client.topic(LOBBY).cursor).toBe(0);
    topic.store(hanging);
    await until('both', () => client.topic(LOBBY).cursor === 2);
    expect(seqs()).toEqual([1, 2]);
  });

  it('moves past holes for good without asking again', async () => {
    client = await connect(server.url);
    await until('the start', () => client.topic(LOBBY).cursor === 0);
    const topic = server.topic(LOBBY);
    for (let i = 0; i < 20; i += 1) topic.tombstone(topic.number());
    const message = topic.store(topic.number());
    server.publish('messages', { topic: LOBBY, messages: [message], voids: [3, 4], stableSeq: 0 });
    await until('the move', () => client.topic(LOBBY).cursor === 21);
    expect(count('message:history')).toBe(2);
  });

  it('gets changes made while it was away, and applies a change that is older than its message', async () => {
    addMessages(server, 3);
    client = await connect(server.url);
    await until('the start', () => client.topic(LOBBY).cursor === 3);
    const topic = server.topic(LOBBY);
    await reconnect(() => {
      topic.change(1, 'recalled');
      topic.change(2, 'normal', 'better');
    });
    await until('the changes', () => client.topic(LOBBY).changeCursor === 2);
    expect(
      client
        .topic(LOBBY)
        .messages()
        .map(({ content }) => content),
    ).toEqual([null, { text: 'better' }, { text: 'text 3' }]);

    const old = topic.store(topic.number());
    server.publish('message:changed', topic.change(4, 'recalled'));
    server.publish('messages', { topic: LOBBY, messages: [old], voids: [], stableSeq: 4 });
    await until('the message', () => client.topic(LOBBY).cursor === 4);
    expect(client.topic(LOBBY).messages().at(-1)).toMatchObject({
      seq: 4,
      status: 'recalled',
      content: null,
      version: 2,
    });
  });

  it('works with a server that has no change numbers', async () => {
    server.withChanges = false;
    addMessages(server, 1);
    client = await connect(server.url);
    await until('the start', () => client.topic(LOBBY).cursor === 1);
    const { change: _number, ...change } = server.topic(LOBBY).change(1, 'recalled');
    server.publish('message:changed', change);
    await until('the change', () => client.topic(LOBBY).messages()[0].status === 'recalled');
    expect([client.topic(LOBBY).changeCursor, count('topic:changes')]).toEqual([null, 0]);
  });

  it('edits, recalls, removes and hides', async () => {
    client = await connect(server.url);
    const topic = client.topic(LOBBY);
    for (const text of ['a', 'b', 'c', 'd']) await topic.sendText(text).outcome;
    await topic.edit(1, { text: 'A' });
    await expect(topic.edit(1, { text: 'again' }, 1)).rejects.toMatchObject({ code: 'CONFLICT' });
    await topic.recall(2);
    await topic.remove(3);
    await topic.deleteForMe([4]);
    expect(topic.messages().map(({ status, content }) => [status, content])).toEqual([
      ['normal', { text: 'A' }],
      ['recalled', null],
      ['deleted', null],
    ]);
    server.publish('message:hidden', { topic: LOBBY, seqs: [1] });
    await until('it is hidden', () => topic.messages().length === 2);
  });

  it('asks for the head of a bad name alone in the end', async () => {
    const errors: unknown[] = [];
    client = await connect(server.url);
    client.on('error', ({ topic }) => errors.push(topic));
    client.topic('grp_404');
    await until('the start', () => client.topic(LOBBY).cursor === 0);
    await until('the refusal', () => errors.length === 1);
    expect(errors).toEqual(['grp_404']);
  });

  it('moves read marks forward only, and sends the newest after a reconnect', async () => {
    addMessages(server, 9);
    client = await connect(server.url);
    const topic = client.topic(LOBBY);
    await until('the start', () => topic.cursor === 9);
    topic.markRead(5);
    await until('the first', () => topic.readSeq === 5);
    topic.markRead(4);
    await reconnect(() => {
      topic.markRead(7);
      topic.markRead();
    });
    await until('the newest', () => topic.readSeq === 9);
    expect(server.calls.filter(({ event }) => event === 'topic:read').map(({ body }) => body.seq)).toEqual([5, 9]);
    server.publish('topic:cursor', { topic: LOBBY, uid: '1', readSeq: 12 });
    await until('the other device', () => topic.readSeq === 12);
  });

  it('watches presence again after a reconnect, passes events on, and keeps typing rare', async () => {
    client = await connect(server.url);
    const seen: string[] = [];
    client.on('presence:changed', ({ uid, state }) => seen.push(`${uid} ${state}`));
    client.on('topic:typing', ({ uid }) => seen.push(`${uid} types`));
    client.on('wire', ({ event }) => seen.push(event));
    expect(await client.watchPresence(['2'])).toEqual([{ uid: '2', state: 'online' }]);
    await reconnect(() => undefined);
    await until('the watch', () => seen.includes('2 online'));
    server.publish('topic:typing', { topic: LOBBY, uid: '2' });
    await until('typing', () => seen.includes('2 types') && seen.includes('topic:typing'));
    for (let i = 0; i < 5; i += 1) client.topic(LOBBY).typing();
    await client.getPresence(['2']);
    expect(count('topic:typing')).toBe(1);
  });
});
