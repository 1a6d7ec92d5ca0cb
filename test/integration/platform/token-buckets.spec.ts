import { asTenantId } from '../../../src/platform/ids/ids.js';
import { RedisClients } from '../../../src/platform/redis/redis-clients.js';
import { RedisKeys } from '../../../src/platform/redis/keys.js';
import { TokenBuckets } from '../../../src/platform/redis/token-buckets.js';
import { Stage } from '../../support/stage.js';
import { until } from '../../support/until.js';

const TENANT = asTenantId('7');
const SLOW = { perSecond: 0.01, burst: 10 };

describe('a token bucket', () => {
  let stage: Stage;
  let buckets: TokenBuckets;
  let redis: RedisClients['command'];
  let keyOf: (subject: string) => string;

  beforeAll(async () => {
    stage = await Stage.open();
    const { nest } = (await stage.inProcess()).application;
    buckets = nest.get(TokenBuckets);
    redis = nest.get(RedisClients).command;
    keyOf = (subject) => nest.get(RedisKeys).of('rate', { t: TENANT, what: 'try', subject });
  });
  afterAll(() => stage.close());

  it('gives its burst, however many ask at once, then says how long to wait', async () => {
    const answers = await Promise.allSettled(
      Array.from({ length: 60 }, () => buckets.take(TENANT, 'try', 'parallel', SLOW)),
    );
    expect(answers.filter((answer) => answer.status === 'fulfilled')).toHaveLength(SLOW.burst);
    for (const answer of answers.filter((one) => one.status === 'rejected')) {
      expect(answer.reason).toMatchObject({ code: 'RATE_LIMITED' });
      const { retryAfterMs } = answer.reason as { retryAfterMs: number };
      expect(retryAfterMs).toBeGreaterThan(60_000);
      expect(retryAfterMs).toBeLessThanOrEqual(100_000);
    }
  });

  it('fills again at its own pace, never above its burst', async () => {
    const budget = { perSecond: 20, burst: 5 };
    expect(await buckets.takeUpTo(TENANT, 'try', 'pace', budget, 100)).toEqual({ granted: 5, waitMs: 0 });
    const refused = await buckets.takeUpTo(TENANT, 'try', 'pace', budget, 1);
    expect(refused.granted).toBe(0);
    expect(refused.waitMs).toBeLessThanOrEqual(50);
    await until('the bucket is full', async () => (await redis.exists(keyOf('pace'))) === 0);
    expect(await buckets.takeUpTo(TENANT, 'try', 'pace', budget, 100)).toEqual({ granted: 5, waitMs: 0 });
  });

  it('gives what is there, and nothing when that is of no use', async () => {
    await buckets.take(TENANT, 'try', 'part', SLOW, 8);
    expect(await buckets.takeUpTo(TENANT, 'try', 'part', SLOW, 5, 3)).toMatchObject({ granted: 0 });
    expect(await buckets.takeUpTo(TENANT, 'try', 'part', SLOW, 5)).toEqual({ granted: 2, waitMs: 0 });
  });

  it('keeps subjects, budgets and tenants apart', async () => {
    await buckets.take(TENANT, 'try', 'apart', SLOW, 10);
    await expect(buckets.take(TENANT, 'try', 'apart', SLOW)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    await buckets.take(TENANT, 'try', 'other', SLOW);
    await buckets.take(TENANT, 'else', 'apart', SLOW);
    await buckets.take(asTenantId('8'), 'try', 'apart', SLOW);
  });

  it.each([
    ['a counter of 99 without an end', (key: string) => redis.set(key, '99')],
    ['a list without an end', (key: string) => redis.rpush(key, 'x')],
    ['an empty bucket without an end', (key: string) => redis.hset(key, { tokens: '0', at: '1' })],
    ['a bucket of words', (key: string) => redis.hset(key, { tokens: 'many', at: 'now' })],
  ])('that is found as %s blocks nobody for ever', async (what, plant) => {
    const key = keyOf(what);
    await plant(key);
    await buckets.take(TENANT, 'try', what, SLOW);
    expect(await redis.pttl(key)).toBeGreaterThan(0);
  });

  it('of a time to come (the clock of Redis went back) goes on from now', async () => {
    const key = keyOf('future');
    await redis.hset(key, { tokens: '0', at: String(Date.now() + 10 ** 9) });
    await expect(buckets.take(TENANT, 'try', 'future', { perSecond: 10, burst: 10 })).rejects.toMatchObject({
      code: 'RATE_LIMITED',
    });
    await until('it fills', () =>
      buckets.take(TENANT, 'try', 'future', { perSecond: 10, burst: 10 }).then(
        () => true,
        () => false,
      ),
    );
  });

  it('always has an end', async () => {
    const { prefix } = { prefix: stage.name };
    const endless: string[] = [];
    for (let cursor = '0'; ;) {
      const [next, keys] = await (redis as unknown as { scan(...args: string[]): Promise<[string, string[]]> }).scan(
        cursor,
        'MATCH',
        `${prefix}:*:rate:*`,
      );
      for (const key of keys) if ((await redis.pttl(key)) === -1) endless.push(key);
      if (next === '0') break;
      cursor = next;
    }
    expect(endless).toEqual([]);
  });
});
