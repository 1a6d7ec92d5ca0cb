import type { TestUser } from '../../support/stage.js';
import { metricsOf } from '../house/metrics.js';
import { until, World } from '../auth/world.js';

const LIMITS = {
  LIMIT_READ_PER_SECOND: '1',
  LIMIT_READ_BURST: '40',
  LIMIT_WRITE_PER_SECOND: '0.5',
  LIMIT_WRITE_BURST: '5',
  LIMIT_SEND_PER_SECOND: '2',
  LIMIT_SEND_BURST: '30',
};
/** What refills while a test runs, and what the nodes hold in hand. */
const SLACK = 12;

let world: World;
let second: Awaited<ReturnType<World['stage']['inProcess']>>;

beforeAll(async () => {
  world = await World.open(async (stage) => {
    await stage.tenant('demo', ['alice', 'bob', 'carol', 'dave', 'erin', 'frank', 'grace', 'heidi']);
    await stage.tenant('rival', ['alice']);
    await stage.tenant('rich', ['alice'], { limits: { write: { perSecond: 100, burst: 300 } } });
  }, LIMITS);
  second = await world.stage.inProcess();
}, 60_000);
afterAll(() => world.close());

const me = (user: TestUser, node = world.node) =>
  world.stage.call(node, 'GET', '/v1/im/users/me', { token: user.accessToken });
const rename = (user: TestUser, nickname: string) =>
  world.call('PATCH', '/v1/im/users/me', { token: user.accessToken, body: { nickname } });
const refusalsOf = async (limit: string): Promise<number> =>
  Number(
    new RegExp(`^im_limit_refusals_total\\{limit="${limit}"\\} (\\d+)`, 'm').exec(await metricsOf(world.node))?.[1] ??
      0,
  );
/** Tokens that a node gave out by itself because Redis did not answer in time; a chunk of these budgets is one. */
const localOf = async (limit: string): Promise<number> =>
  Number(
    new RegExp(`^im_limit_local_total\\{limit="${limit}"\\} (\\d+)`, 'm').exec(await metricsOf(world.node))?.[1] ?? 0,
  );
const bucketCalls = async (): Promise<number> =>
  Number(/^im_redis_command_seconds_count\{script="token_bucket"\} (\d+)/m.exec(await metricsOf(world.node))?.[1] ?? 0);

describe("a user's budget", () => {
  it('by REST: calls above it are 429 with the time to wait, and then go on', async () => {
    const alice = await world.login('demo', 'alice');
    const before = await refusalsOf('write');
    const answers = await Promise.all(Array.from({ length: 30 }, (_, index) => rename(alice, `Alice ${index}`)));
    const refused = answers.filter((answer) => answer.status === 429);
    expect(answers.filter((answer) => answer.status === 200).length).toBeGreaterThanOrEqual(5);
    expect(refused.length).toBeGreaterThanOrEqual(20);
    for (const answer of refused) {
      expect(answer.body).toMatchObject({ code: 'RATE_LIMITED', status: 429, retryable: true });
      expect(answer.body.retryAfterMs).toBeGreaterThan(0);
      expect(answer.headers.get('content-type')).toContain('application/problem+json');
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    }
    expect((await refusalsOf('write')) - before).toBe(refused.length);
    // Another budget of the same user, and the same budget of others, are untouched.
    expect((await me(alice)).status).toBe(200);
    expect((await rename(await world.login('demo', 'bob'), 'Bob')).status).toBe(200);
    expect((await rename(await world.login('rival', 'alice'), 'Alice')).status).toBe(200);
    await until('it goes on', async () => (await rename(alice, 'Alice')).status === 200);
  });

  it('by socket: every event above it is acknowledged with the time to wait, malformed ones count too', async () => {
    const carol = await world.login('demo', 'carol');
    const topic = await world.stage.group(world.node, carol, []);
    const client = await world.stage.connect(world.node, carol);
    const [localBefore, startedMs] = [await localOf('send'), performance.now()];
    const acks = await Promise.all(
      Array.from({ length: 90 }, (_, index) =>
        index % 2 ? client.send(topic, `m${index}`, 'x') : client.emit('message:send', { bad: true }),
      ),
    );
    const refused = acks.filter((ack) => ack.error?.code === 'RATE_LIMITED');
    expect(acks.filter((ack) => ack.ok).length).toBeGreaterThanOrEqual(10);
    expect(acks.filter((ack) => ack.error?.code === 'VALIDATION_FAILED').length).toBeGreaterThanOrEqual(10);
    // On a slow machine time brings more, and a node that waits too long for Redis counts for itself.
    const more = (2 * (performance.now() - startedMs)) / 1000 + (await localOf('send')) - localBefore;
    expect(refused.length).toBeGreaterThanOrEqual(90 - 30 - SLACK - more);
    for (const ack of refused)
      expect(ack.error).toMatchObject({ retryable: true, retryAfterMs: expect.any(Number) as number });
    // Nothing of a refused send was stored.
    const stored = acks.filter((ack) => ack.ok).map((ack) => ack.seq);
    expect((await client.historyFrom(topic)).map((message) => message.seq)).toEqual(
      stored.sort((a, b) => Number(a) - Number(b)),
    );
    // By REST it is the same budget.
    const byRest = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        world.call('POST', `/v1/im/topics/${topic}/messages`, {
          token: carol.accessToken,
          body: { clientMsgId: `rest${index}`, type: 'text', content: { text: 'x' } },
        }),
      ),
    );
    // Of a budget of its own, all of them would be let in.
    expect(byRest.map(({ status }) => status)).toContain(429);
  });

  it('is one for all nodes, sockets and tokens', async () => {
    const first = await world.login('demo', 'dave');
    const other = await world.login('demo', 'dave');
    const started = Date.now();
    const answers = await Promise.all(
      Array.from({ length: 120 }, (_, index) => me(index % 2 ? first : other, index % 3 ? world.node : second)),
    );
    const passed = answers.filter((answer) => answer.status === 200).length;
    expect(passed).toBeGreaterThanOrEqual(30);
    expect(passed).toBeLessThanOrEqual(40 + (Date.now() - started) / 1000 + 2);
  });

  it("can be a tenant's own", async () => {
    const alice = await world.login('rich', 'alice');
    const answers = await Promise.all(Array.from({ length: 60 }, () => rename(alice, 'Alice')));
    expect(answers.every((answer) => answer.status === 200)).toBe(true);
  });

  it('costs a round trip to Redis a chunk, not a call', async () => {
    const alice = await world.login('rich', 'alice');
    await rename(alice, 'Alice');
    const before = await bucketCalls();
    for (let index = 0; index < 72; index += 1) await rename(alice, 'Alice');
    // Chunks of 18 (burst 300 / 16).
    expect((await bucketCalls()) - before).toBeLessThanOrEqual(6);
  });

  it('does not touch health and metrics', async () => {
    const answers = await Promise.all(Array.from({ length: 100 }, () => fetch(`${world.node.url}/health/live`)));
    expect(answers.every((answer) => answer.status === 200)).toBe(true);
  });
});

describe('while Redis is away', () => {
  afterEach(async () => {
    world.redis.mend();
    await until('Redis is back', async () => (await fetch(`${world.node.url}/health/ready`)).status === 200);
  });

  it('each node counts by itself: nobody who needs no Redis is stopped, and nobody is free', async () => {
    const erin = await world.login('demo', 'erin');
    world.redis.cut();
    const answers = await Promise.all(Array.from({ length: 120 }, () => me(erin)));
    expect(answers.filter((answer) => answer.status === 200).length).toBeGreaterThanOrEqual(40);
    expect(answers.filter((answer) => answer.status === 429).length).toBeGreaterThanOrEqual(120 - 40 - SLACK);
    expect(await metricsOf(world.node)).toMatch(/^im_limit_local_total\{limit="read"\} [1-9]/m);
  });

  it('and hangs, a call waits a moment at most', async () => {
    const frank = await world.login('demo', 'frank');
    world.redis.freeze();
    try {
      const started = Date.now();
      expect((await me(frank)).status).toBe(200);
      // The session's mark is waited for, too.
      expect(Date.now() - started).toBeLessThan(2_000);
    } finally {
      world.redis.release();
    }
  });
});
