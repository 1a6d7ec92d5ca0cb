import { until, World } from '../auth/world.js';
import type { TestNode } from '../../support/stage.js';
import { TestClient } from '../../support/client.js';
import { metricsOf } from '../house/metrics.js';

const AUTH = 20;
const WRONG = 30;
let world: World;
/** Behind one trusted proxy. */
let proxied: TestNode;

beforeAll(async () => {
  world = await World.open(
    async (stage) => {
      await stage.tenant('demo', ['alice']);
    },
    {
      LIMIT_AUTH_PER_MINUTE: String(AUTH),
      LIMIT_UNAUTHENTICATED_PER_MINUTE: String(WRONG),
      LIMIT_HANDSHAKE_PER_SECOND: '1',
      LIMIT_HANDSHAKE_BURST: '16',
    },
  );
  proxied = await world.stage.inProcess({ TRUSTED_PROXY_DEPTH: '1' });
}, 60_000);
afterAll(() => world.close());

/** A log-in that is refused before any password is hashed. */
const guess = (node: TestNode, forwardedFor: string) =>
  world.stage.call(node, 'POST', '/v1/auth/login', {
    body: { loginToken: '1.x', account: 'alice', password: 'wrong-pass' },
    headers: { 'x-forwarded-for': forwardedFor },
  });
const statuses = async (count: number, call: (index: number) => Promise<{ status: number }>): Promise<number[]> =>
  (await Promise.all(Array.from({ length: count }, (_, index) => call(index)))).map((answer) => answer.status);
const passed = (all: number[]): number => all.filter((status) => status !== 429).length;

describe('calls without a good token', () => {
  const WRONG_TOKENS = [undefined, 'x', 'a.b.c', `1.${'A'.repeat(43)}`];
  const call = (index: number, address: string, token = WRONG_TOKENS[index % WRONG_TOKENS.length]) =>
    world.stage.call(proxied, 'GET', '/v1/im/users/me', { token, headers: { 'x-forwarded-for': address } });

  it('are limited by address, with the time to wait; whoever is logged in behind it goes on', async () => {
    const alice = await world.login('demo', 'alice');
    const all = await statuses(120, (index) => call(index, `10.1.1.${index}, 203.0.113.20`));
    expect(new Set(all)).toEqual(new Set([401, 429]));
    expect(passed(all)).toBeGreaterThanOrEqual(WRONG);
    expect(passed(all)).toBeLessThanOrEqual(WRONG + 15);
    const refused = await call(0, '203.0.113.20');
    expect(refused).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED', retryable: true } });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    // Forged and expired ones, and ones of sessions that ended, are such calls, too.
    expect((await call(0, '203.0.113.20', forged(alice.accessToken))).status).toBe(429);
    const ended = await world.login('demo', 'alice');
    await world.call('POST', '/v1/auth/logout', { token: ended.accessToken, body: {} });
    expect((await call(0, '203.0.113.20', ended.accessToken)).status).toBe(429);
    expect((await call(0, '203.0.113.20', alice.accessToken)).status).toBe(200);
    expect((await call(0, '203.0.113.21')).status).toBe(401);
    expect(await metricsOf(proxied)).toMatch(/^im_limit_refusals_total\{limit="unauthenticated"\} [1-9]/m);
  });

  it('are counted by each node alone while Redis is away', async () => {
    world.redis.cut();
    try {
      const all = await statuses(90, (index) => call(index, '203.0.113.22'));
      expect(new Set(all)).toEqual(new Set([401, 429]));
      expect(passed(all)).toBeGreaterThanOrEqual(WRONG);
    } finally {
      world.redis.mend();
      for (const { url } of [world.node, proxied]) {
        await until('Redis is back', async () => (await fetch(`${url}/health/ready`)).status === 200);
      }
    }
  });

  const forged = (token: string): string => `${token.slice(0, -4)}AAAA`;
});

describe('log-ins of one address', () => {
  it('are limited behind a proxy by what the proxy saw, however the client words its header', async () => {
    const forged = await statuses(60, (index) => guess(proxied, `10.0.${index}.1, 203.0.113.7`));
    expect(passed(forged)).toBeGreaterThanOrEqual(AUTH);
    expect(passed(forged)).toBeLessThanOrEqual(AUTH + 5);
    const spelled = await statuses(10, (index) =>
      guess(proxied, ['::ffff:203.0.113.7', '[::ffff:cb00:7107]:80', '203.0.113.7:1234'][index % 3]),
    );
    expect(passed(spelled)).toBeLessThanOrEqual(3);
    // His neighbour is another address.
    expect((await guess(proxied, '203.0.113.8')).status).not.toBe(429);
  });

  it('are limited by the /64 network of IPv6', async () => {
    const all = await statuses(60, (index) => guess(proxied, `2001:db8:1:2:${index.toString(16)}::1`));
    expect(passed(all)).toBeLessThanOrEqual(AUTH + 5);
    expect((await guess(proxied, '2001:db8:1:3::1')).status).not.toBe(429);
  });

  it('are limited without a proxy by the connection, whatever the header says', async () => {
    const all = await statuses(60, (index) => guess(world.node, `203.0.${index}.9`));
    expect(passed(all)).toBeLessThanOrEqual(AUTH + 5);
    const refused = await guess(world.node, '198.51.100.1');
    expect(refused).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED' } });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    // A user who is logged in is not stopped by strangers behind his address.
    expect(await metricsOf(world.node)).toMatch(/^im_limit_refusals_total\{limit="auth"\} [1-9]/m);
  });

  it('leave room for enterprise codes and refreshes of others behind the address', async () => {
    expect((await world.call('POST', '/v1/auth/enterprise', { body: { code: 'demo' } })).status).toBe(200);
    expect((await world.refresh('1.x')).status).toBe(401);
  });

  it.each([
    ['gone', () => world.redis.cut()],
    ['frozen', () => world.redis.freeze()],
  ])('are refused within a second while Redis is %s', async (_what, harm) => {
    harm();
    try {
      for (let index = 0; index < 3; index += 1) {
        const started = Date.now();
        const answer = await guess(world.node, '');
        expect(answer).toMatchObject({ status: 503, body: { code: 'SHORT_STATE_UNAVAILABLE', retryable: true } });
        expect(Date.now() - started).toBeLessThan(1_500);
      }
    } finally {
      world.redis.release();
      world.redis.mend();
      await until('Redis is back', async () => (await fetch(`${world.node.url}/health/ready`)).status === 200);
    }
  });
});

describe('handshakes of one address', () => {
  const knock = (node: TestNode, forwardedFor: string): Promise<string> =>
    TestClient.connect(node.url, { token: 'a.b.c' }, ['websocket'], { 'x-forwarded-for': forwardedFor }).then(
      (client) => {
        client.close();
        return 'let in';
      },
      (error: Error & { data?: { code: string; retryAfterMs?: number } }) =>
        error.data?.code === 'RATE_LIMITED' && error.data.retryAfterMs! > 0 ? 'RATE_LIMITED' : String(error.data?.code),
    );

  it('above the limit are refused with the time to wait, and forged headers do not help', async () => {
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) => knock(proxied, `1.1.1.${index}, 203.0.113.9`)),
    );
    const refused = answers.filter((answer) => answer === 'RATE_LIMITED').length;
    expect(refused).toBeGreaterThanOrEqual(18);
    expect(answers.filter((answer) => answer === 'UNAUTHENTICATED').length).toBe(40 - refused);
    expect(await knock(proxied, '203.0.113.10')).toBe('UNAUTHENTICATED');
  });
});
