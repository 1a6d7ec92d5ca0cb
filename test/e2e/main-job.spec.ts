import type { TestClient } from '../support/client.js';
import type { NodeProcess } from '../support/nodes.js';
import { Stage, type TestUser } from '../support/stage.js';
import { until } from '../support/until.js';

let stage: Stage;
let one: NodeProcess;
let two: NodeProcess;
let alice: TestUser;
let bob: TestUser;
let carol: TestUser;
let stranger: TestUser;
let topic: string;

beforeAll(async () => {
  stage = await Stage.open();
  await stage.tenant('demo', ['alice', 'bob', 'carol']);
  await stage.tenant('rival', ['alice', 'bob', 'carol']);
  [one, two] = await Promise.all([stage.process(), stage.process()]);
  [alice, bob, carol] = await Promise.all(['alice', 'bob', 'carol'].map((name) => stage.login(one, 'demo', name)));
  stranger = await stage.login(two, 'rival', 'alice');
  topic = await stage.group(one, alice, [bob]);
}, 90_000);
afterAll(() => stage.close());

const seqs = (client: TestClient): number[] => client.heard(topic).map((message) => message.seq);

describe('a message that crosses two nodes', () => {
  it('is delivered once to every member on every node, and is in history with the same body', async () => {
    const [a, b] = await Promise.all([stage.connect(one, alice), stage.connect(two, bob)]);
    expect(a.ready).toMatchObject({ uid: alice.uid, topics: 1 });
    expect(b.ready?.nodeId).not.toBe(a.ready?.nodeId);
    const ack = await a.send(topic, 'first', 'hello from node one');
    expect(ack).toMatchObject({ ok: true, seq: 1, duplicate: false });
    const [heard] = await until('bob hears it', () => (b.heard(topic).length > 0 ? b.heard(topic) : null));
    expect(heard).toMatchObject({
      id: ack.messageId,
      topic,
      seq: 1,
      from: alice.uid,
      clientMsgId: 'first',
      type: 'text',
      content: { text: 'hello from node one' },
      head: null,
      mentionedUserIds: [],
      mentionAll: false,
      replySeq: null,
      rootSeq: null,
      status: 'normal',
      version: 1,
      createdAt: ack.createdAt,
    });
    expect(await b.historyFrom(topic)).toEqual([heard]);
    await until('the sender hears it too', () => seqs(a).length === 1);
  });

  it('takes 300 sends at once from both nodes: all acknowledged, unique, in order in history, once in realtime', async () => {
    const [a, b] = await Promise.all([stage.connect(one, alice), stage.connect(two, bob)]);
    const sends = Array.from({ length: 300 }, (_, index) =>
      (index % 2 ? a : b).send(topic, `burst-${index}`, `text ${index}`),
    );
    const acks = await Promise.all(sends);
    expect(acks.filter((ack) => !ack.ok)).toEqual([]);
    const given = acks.map((ack) => ack.seq).sort((x, y) => x - y);
    expect(new Set(given).size).toBe(300);
    const stored = (await a.historyFrom(topic)).filter((message) => message.clientMsgId.startsWith('burst-'));
    expect(stored.map((message) => message.seq)).toEqual(given);
    for (const client of [a, b]) {
      await until('all were heard', () => seqs(client).length >= 300);
      expect(seqs(client).sort((x, y) => x - y)).toEqual(given);
    }
  });

  it('stores one row for 50 retries of one id on both nodes, and tells each of them its number', async () => {
    const [a, b] = await Promise.all([stage.connect(one, alice), stage.connect(two, alice)]);
    const answers = await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        for (;;) {
          const ack = await (index % 2 ? a : b).send(topic, 'again-and-again', 'once');
          if (ack.ok) return ack;
          expect(ack.error).toMatchObject({ code: 'IN_PROGRESS', retryable: true });
        }
      }),
    );
    expect(new Set(answers.map((ack) => `${ack.seq} ${ack.messageId}`)).size).toBe(1);
    expect(answers.filter((ack) => !ack.duplicate)).toHaveLength(1);
    const rows = await stage.sql('demo', "SELECT id FROM im_group_messages WHERE client_msg_id = 'again-and-again'");
    expect(rows).toHaveLength(1);
  });

  it('takes ids that differ in case for two messages, and the same id with another body for a conflict', async () => {
    const a = await stage.connect(one, alice);
    const lower = await a.send(topic, 'ab3x', 'one');
    const upper = await a.send(topic, 'AB3X', 'two');
    expect(upper.seq).toBeGreaterThan(lower.seq);
    const other = await a.send(topic, 'ab3x', 'another body');
    expect(other).toMatchObject({ ok: false, error: { code: 'IDEMPOTENCY_CONFLICT', retryable: false } });
  });
});

describe('outsiders', () => {
  it('neither send, read, subscribe nor hear, in the same tenant or in another one', async () => {
    const [a, outsider, other] = await Promise.all([
      stage.connect(one, alice),
      stage.connect(two, carol),
      stage.connect(two, stranger),
    ]);
    for (const client of [outsider, other]) {
      expect(await client.send(topic, 'x', 'x')).toMatchObject({ ok: false, error: { code: 'NOT_MEMBER' } });
      expect(await client.history(topic, {})).toMatchObject({ ok: false, error: { code: 'NOT_MEMBER' } });
      expect(await client.emit('topic:subscribe', { topics: [topic] })).toMatchObject({
        ok: true,
        topics: [{ topic, error: { code: 'NOT_MEMBER' } }],
      });
    }
    const ack = await a.send(topic, 'secret', 'for members');
    await until('the member hears it', () => seqs(a).includes(ack.seq));
    // A message of another topic that both may hear comes after it on the same connections.
    expect(await outsider.emit('session:heartbeat', {})).toMatchObject({ ok: true });
    expect([outsider.events('messages'), other.events('messages')]).toEqual([[], []]);
  });

  it.each(['tenant', 'tenantId', 'x'])('a handshake cannot choose "%s"', async (field) => {
    await expect(stage.connect(one, alice, { [field]: '2' })).rejects.toMatchObject({
      data: { code: 'VALIDATION_FAILED' },
    });
  });

  it('is told what is wrong with his token', async () => {
    const { socket } = await stage.connect(one, alice);
    socket.disconnect();
    await expect(stage.connect(one, { ...alice, accessToken: 'nonsense' })).rejects.toMatchObject({
      data: { code: 'UNAUTHENTICATED', retryable: false },
    });
  });
});

describe('members that come and go', () => {
  it('hear a topic from the acknowledgement on, and nothing of it after they were kicked or left, on any node', async () => {
    const own = await stage.group(one, alice, []);
    const [a, c] = await Promise.all([stage.connect(one, alice), stage.connect(two, carol)]);
    const add = (): Promise<unknown> =>
      stage.call(one, 'POST', `/v1/im/groups/${own}/members`, {
        token: alice.accessToken,
        body: { uids: [carol.uid] },
      });
    const kick = (): Promise<{ status: number }> =>
      stage.call(one, 'DELETE', `/v1/im/groups/${own}/members/${carol.uid}`, { token: alice.accessToken });

    await add();
    const first = await a.send(own, 'm1', 'welcome');
    await until('carol hears it', () => c.heard(own).some((message) => message.seq === first.seq));

    expect((await kick()).status).toBeLessThan(300);
    const unheard = await a.send(own, 'm2', 'about carol');
    expect(await c.history(own, {})).toMatchObject({ error: { code: 'NOT_MEMBER' } });
    expect(await c.send(own, 'c1', 'still here?')).toMatchObject({ error: { code: 'NOT_MEMBER' } });

    await add();
    const third = await a.send(own, 'm3', 'back again');
    await until('carol hears the third', () => c.heard(own).some((message) => message.seq === third.seq));
    expect(c.heard(own).map((message) => message.seq)).not.toContain(unheard.seq);
    expect(c.events('group:changed').filter((change) => change.topic === own && change.kind === 'kicked')).toHaveLength(
      1,
    );
  });
});
