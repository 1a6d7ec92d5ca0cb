import type { TestClient } from '../support/client.js';
import { Stage, type TestNode } from '../support/stage.js';

/** Free JSON of clients: what is acknowledged is stored as it came, or it is refused. */
let stage: Stage;
let node: TestNode;
let a: TestClient;
let topic: string;
let token: string;

beforeAll(async () => {
  stage = await Stage.open();
  await stage.tenant('demo', ['alice']);
  node = await stage.inProcess();
  const alice = await stage.login(node, 'demo', 'alice');
  token = alice.accessToken;
  a = await stage.connect(node, alice);
  topic = await stage.group(node, alice, []);
}, 60_000);
afterAll(() => stage.close());

const INHERITED = Object.getOwnPropertyNames(Object.prototype).filter(
  (name) => !['constructor', '__proto__'].includes(name),
);

it('B51: keys named like inherited functions come back as they were sent, by socket and by REST', async () => {
  const data = Object.fromEntries([...INHERITED, 'then', 'length', 'toJSON'].map((name, index) => [name, index]));
  const body = {
    type: 'custom',
    content: { schema: 's', data: { ...data, deep: [{ data }] } },
    head: { client: data },
  };
  await a.emit('message:send', { topic, clientMsgId: 'socket', ...body });
  await stage.call(node, 'POST', `/v1/im/topics/${topic}/messages`, {
    token,
    body: { clientMsgId: 'rest', ...body },
  });
  for (const message of await a.historyFrom(topic)) {
    expect(JSON.stringify([message.content, message.head])).toBe(JSON.stringify([body.content, body.head]));
  }
  const edited = { schema: 's', data };
  await a.emit('message:edit', { topic, seq: 1, version: 1, content: edited });
  expect((await a.historyFrom(topic))[0].content).toEqual(edited);
});

it.each(['9007199254740993', '-9007199254740993', '1e300', '9223372036854775808'])(
  'B56: the number %s in free JSON is refused, not rounded',
  async (number) => {
    for (const text of [`{"data":${number}}`, `{"data":{"a":[{"b":${number}}]}}`]) {
      const { data } = JSON.parse(text) as { data: unknown };
      const custom = {
        topic,
        clientMsgId: `n-${number}`,
        type: 'custom',
        content: { schema: 's', data },
      };
      expect(await a.emit('message:send', custom)).toMatchObject({
        error: { code: 'VALIDATION_FAILED' },
      });
    }
    const response = await fetch(`${node.url}/v1/im/topics/${topic}/messages`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${token}`,
      },
      body: `{"clientMsgId":"n","type":"custom","content":{"schema":"s","data":${number}}}`,
    });
    expect(response.status).toBe(400);
  },
);

it('B56: whole numbers up to 2^53 - 1 and fractions are kept', async () => {
  const data = [Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER, 0.1, 1.5e-7, 123456.789];
  const ack = await a.emit('message:send', {
    topic,
    clientMsgId: 'fine',
    type: 'custom',
    content: { schema: 's', data },
  });
  const [stored] = (await a.history(topic, { afterSeq: Number(ack.seq) - 1, limit: 1 })).messages;
  expect(stored.content).toEqual({ schema: 's', data });
});
