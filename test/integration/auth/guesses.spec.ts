import { AuthRedis } from '../../../src/modules/auth/auth.redis.js';
import { asTenantId } from '../../../src/platform/ids/ids.js';
import { RedisClients } from '../../../src/platform/redis/redis-clients.js';
import type { RestAnswer } from '../../support/stage.js';
import { metricsOf } from '../house/metrics.js';
import { PASSWORD, until, World } from './world.js';

const FREE = 10;
let world: World;
let tenant: string;

beforeAll(async () => {
  world = await World.open(
    async (stage) => {
      tenant = await stage.tenant('demo', ['alice', 'bob', 'carol', 'dave', 'erin']);
      await stage.tenant('rival', ['alice']);
    },
    { TRUSTED_PROXY_DEPTH: '1' },
  );
}, 30_000);
afterAll(() => world.close());

async function guess(account: string, password: string, address: string, code = 'demo'): Promise<RestAnswer> {
  const loginToken = await world.loginToken(code);
  return world.call('POST', '/v1/auth/login', {
    body: { loginToken, account, password },
    headers: { 'x-forwarded-for': address },
  });
}
const codes = (answers: RestAnswer[], code: string): number =>
  answers.filter((answer) => answer.body.code === code).length;

describe('guessing a password', () => {
  it('becomes slower and slower, in parallel too, for the right password as well, and only from that address', async () => {
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) => guess('alice', `wrong-${index}`, '203.0.113.1')),
    );
    expect(codes(answers, 'UNAUTHENTICATED')).toBeLessThanOrEqual(FREE + 2);
    expect(codes(answers, 'UNAUTHENTICATED')).toBeGreaterThanOrEqual(FREE);
    expect(codes(answers, 'RATE_LIMITED')).toBe(40 - codes(answers, 'UNAUTHENTICATED'));
    // One more try that was let in makes the wait longer than a slow machine takes for the next call.
    const letIn = async () => (await guess('alice', 'wrong', '203.0.113.1')).body.code === 'UNAUTHENTICATED';
    await until('another try is let in', letIn, 20_000);
    const delayed = await guess('alice', PASSWORD, '203.0.113.1');
    expect(delayed).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED', retryable: true } });
    expect(Number(delayed.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    // Her owner is elsewhere; her namesake is another person; her guesser may try others.
    expect((await guess('alice', PASSWORD, '203.0.113.2')).status).toBe(200);
    expect((await guess('alice', PASSWORD, '203.0.113.1', 'rival')).status).toBe(200);
    expect((await guess('bob', PASSWORD, '203.0.113.1')).status).toBe(200);
    expect(await metricsOf(world.node)).toMatch(/^im_logins_total\{result="delayed"\} [1-9]/m);
    // After the wait the right password is taken, and the delays end with it.
    await until('the wait is over', async () => (await guess('alice', PASSWORD, '203.0.113.1')).status === 200, 20_000);
    expect((await guess('alice', 'wrong-again', '203.0.113.1')).body.code).toBe('UNAUTHENTICATED');
    expect((await guess('alice', PASSWORD, '203.0.113.1')).status).toBe(200);
  }, 60_000);

  it('tells nothing of who exists: accounts that do not are delayed in the same way', async () => {
    const answers = async (account: string) =>
      (await Promise.all(Array.from({ length: 30 }, () => guess(account, 'wrong-pass', '203.0.113.3')))).map(
        ({ status, body }) => `${status} ${body.code} ${String(body.detail)}`,
      );
    expect(new Set(await answers('nobody'))).toEqual(new Set(await answers('carol')));
  });

  it('does not stop ten right log-ins at once', async () => {
    const answers = await Promise.all(Array.from({ length: FREE }, () => guess('dave', PASSWORD, '203.0.113.4')));
    expect(answers.map((answer) => answer.status)).toEqual(Array(FREE).fill(200));
  });

  it('is counted with an end, whatever was found there', async () => {
    const redis = world.get(RedisClients).command;
    const counters = async (): Promise<string[]> => {
      const all = await redis.call('KEYS', `${world.stage.name}:*:login:fail:*`);
      return all as string[];
    };
    await guess('erin', 'wrong-pass', '203.0.113.5');
    const keys = await counters();
    expect(keys.length).toBeGreaterThanOrEqual(2);
    for (const key of keys) {
      expect(await redis.pttl(key)).toBeGreaterThan(0);
      expect(key).not.toContain('erin');
      await redis.persist(key);
    }
    const [own] = (await counters()).filter((key) => key.endsWith('203.0.113.5'));
    await redis.set(own, '99');
    expect((await guess('erin', 'wrong-pass', '203.0.113.5')).body.code).toBe('UNAUTHENTICATED');
    expect(await redis.pttl(own)).toBeGreaterThan(0);
  });

  it.each([
    ['gone', () => world.redis.cut()],
    ['frozen', () => world.redis.freeze()],
  ])('is refused within a second while Redis is %s', async (_what, harm) => {
    const loginToken = await world.loginToken('demo');
    harm();
    try {
      const started = Date.now();
      const body = { loginToken, account: 'alice', password: PASSWORD };
      const answer = await world.call('POST', '/v1/auth/login', { body });
      expect(answer).toMatchObject({ status: 503, body: { code: 'SHORT_STATE_UNAVAILABLE', retryable: true } });
      expect(Date.now() - started).toBeLessThan(1_500);
    } finally {
      world.redis.release();
      world.redis.mend();
      await until('Redis is back', async () => (await fetch(`${world.node.url}/health/ready`)).status === 200);
    }
  });
});

describe("a session's mark", () => {
  const markOf = async (sessionId: string): Promise<string> => {
    const [key] = (await world
      .get(RedisClients)
      .command.call('KEYS', `${world.stage.name}:${tenant}:session:{${sessionId}}:revoked`)) as string[];
    return key;
  };
  const sessionOf = (token: string): string =>
    (JSON.parse(Buffer.from(token.split('.')[1], 'base64url').toString()) as { sid: string }).sid;

  it('that an older state of Redis brings back does not let a revoked token in', async () => {
    const { accessToken } = await world.login('demo', 'bob');
    const redis = world.get(RedisClients).command;
    const key = await markOf(sessionOf(accessToken));
    const before = (await redis.get(key))!;
    expect(before).toMatch(/^0\|[0-9a-f]{40}$/);
    expect((await world.call('POST', '/v1/auth/logout', { token: accessToken, body: {} })).status).toBe(204);
    // As a dump of another server, from before the log-out, would say it.
    await redis.set(key, `0|${'0'.repeat(40)}`, 'EX', 600);
    expect((await world.call('GET', '/v1/im/users/me', { token: accessToken })).status).toBe(401);
    // The old form, without any run id.
    await redis.set(key, '0', 'EX', 600);
    expect((await world.call('GET', '/v1/im/users/me', { token: accessToken })).status).toBe(401);
  });

  it('is noted anew for a session that stands, and never over a revocation', async () => {
    const { accessToken } = await world.login('demo', 'bob');
    const redis = world.get(RedisClients).command;
    const key = await markOf(sessionOf(accessToken));
    await redis.set(key, `0|${'0'.repeat(40)}`, 'EX', 600);
    expect((await world.call('GET', '/v1/im/users/me', { token: accessToken })).status).toBe(200);
    expect(await redis.get(key)).toMatch(/^0\|(?!0{40})[0-9a-f]{40}$/);
    await redis.set(key, '1', 'EX', 600);
    await world.get(AuthRedis).markStanding(asTenantId(tenant), sessionOf(accessToken));
    expect(await redis.get(key)).toBe('1');
    expect((await world.call('GET', '/v1/im/users/me', { token: accessToken })).status).toBe(401);
  });
});
