import { IdempotencyRedis } from '../../../src/modules/idempotency/idempotency.redis.js';
import { IdempotencyStore } from '../../../src/modules/idempotency/idempotency.store.js';
import { RedisClients } from '../../../src/platform/redis/redis-clients.js';
import type { RestAnswer, TestNode, TestUser } from '../../support/stage.js';
import { until, World } from '../auth/world.js';

let world: World;
let second: Awaited<ReturnType<World['stage']['inProcess']>>;
let alice: TestUser;
let bob: TestUser;
let stranger: TestUser;

beforeAll(async () => {
  world = await World.open(async (stage) => {
    await stage.tenant('demo', ['alice', 'bob']);
    await stage.tenant('rival', ['alice']);
  });
  second = await world.stage.inProcess();
  alice = await world.login('demo', 'alice');
  bob = await world.login('demo', 'bob');
  stranger = await world.login('rival', 'alice');
}, 60_000);
afterAll(() => world.close());
afterEach(() => jest.restoreAllMocks());

const make = (name: string, key: string, user = alice, node: TestNode = world.node) =>
  world.stage.call<{ topic: string }>(node, 'POST', '/v1/im/groups', {
    token: user.accessToken,
    body: { name, memberUids: [] },
    headers: { 'idempotency-key': key },
  });
const groupsNamed = async (name: string, code = 'demo'): Promise<number> =>
  (await world.sql(code, 'SELECT 1 FROM im_groups WHERE name = ?', [name])).length;
const codes = (answers: RestAnswer[]): string[] => answers.map(({ status, body }) => `${status} ${body.code ?? ''}`);

/** As a Redis that lost what it knew of these keys. */
async function forgetAll(): Promise<void> {
  const redis = world.get(RedisClients).command;
  for (const key of (await redis.call('KEYS', `${world.stage.name}:*:idem:*`)) as string[]) await redis.del(key);
}

describe('the same call with the same key', () => {
  it('is done once and answered again, on every node, however its body is ordered', async () => {
    const first = await make('once', 'k1');
    expect(first.status).toBe(201);
    expect(first.headers.get('idempotency-repeated')).toBeNull();
    const again = await world.stage.call(second, 'POST', '/v1/im/groups', {
      token: alice.accessToken,
      body: { memberUids: [], name: 'once' },
      headers: { 'idempotency-key': 'k1' },
    });
    expect(again).toMatchObject({ status: 201, body: first.body });
    expect(again.headers.get('idempotency-repeated')).toBe('true');
    expect(await groupsNamed('once')).toBe(1);
  });

  it('twenty times at once is done once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => make('parallel', 'k2', alice, index % 2 ? world.node : second)),
    );
    expect(await groupsNamed('parallel')).toBe(1);
    expect(new Set(codes(answers))).toEqual(
      new Set(['201 ', '409 IN_PROGRESS'].filter((code) => codes(answers).includes(code))),
    );
    expect(new Set(answers.filter((one) => one.status === 201).map((one) => one.body.topic)).size).toBe(1);
    expect((await make('parallel', 'k2')).status).toBe(201);
  });

  it('is another one with another body, path, user or tenant', async () => {
    expect((await make('mine', 'k3')).status).toBe(201);
    expect((await make('other', 'k3')).body.code).toBe('IDEMPOTENCY_CONFLICT');
    const patched = await world.call('PATCH', '/v1/im/users/me', {
      token: alice.accessToken,
      body: { nickname: 'x' },
      headers: { 'idempotency-key': 'k3' },
    });
    expect(patched.body.code).toBe('IDEMPOTENCY_CONFLICT');
    expect((await make('of bob', 'k3', bob)).status).toBe(201);
    expect((await make('of a stranger', 'k3', stranger)).status).toBe(201);
  });

  it('that failed may be made again', async () => {
    const path = '/v1/im/groups';
    const call = (memberUids: string[]) =>
      world.call('POST', path, {
        token: alice.accessToken,
        body: { name: 'failed', memberUids },
        headers: { 'idempotency-key': 'k4' },
      });
    expect((await call(['999999'])).status).toBe(400);
    expect((await call(['999999'])).body.code).toBe('VALIDATION_FAILED');
    expect((await call([bob.uid])).status).toBe(201);
    expect(await groupsNamed('failed')).toBe(1);
  });

  it.each([
    ['an answer without a body', 'DELETE'],
    ['a profile', 'PATCH'],
  ])('%s is given again, too', async (_what, method) => {
    const topic = (await make(`again ${method}`, `k5-${method}`)).body.topic;
    const call = () =>
      world.call(method, `/v1/im/groups/${topic}`, {
        token: alice.accessToken,
        body: method === 'PATCH' ? { name: 'renamed' } : undefined,
        headers: { 'idempotency-key': `k6-${method}` },
      });
    const first = await call();
    expect(first.status).toBeLessThan(300);
    const again = await call();
    expect(again).toMatchObject({ status: first.status, body: first.body });
    expect(again.headers.get('idempotency-repeated')).toBe('true');
  });

  it.each(['', 'a b', 'x'.repeat(65), 'a,b'])('the key %j is refused', async (key) => {
    const answer = await world.call('POST', '/v1/im/groups', {
      token: alice.accessToken,
      body: { name: 'bad key' },
      headers: { 'idempotency-key': key },
    });
    expect(answer).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
    expect(await groupsNamed('bad key')).toBe(0);
  });
});

describe('what is lost in between', () => {
  it('Redis forgot everything: MySQL answers', async () => {
    const first = await make('forgotten', 'k7');
    await forgetAll();
    const again = await make('forgotten', 'k7');
    expect(again).toMatchObject({ status: 201, body: first.body });
    expect((await make('something else', 'k7')).body.code).toBe('IDEMPOTENCY_CONFLICT');
    expect(await groupsNamed('forgotten')).toBe(1);
  });

  it('the node died between the commit and the answer: it is not done again, and that is said', async () => {
    // As a death does: nothing after the commit happens.
    jest.spyOn(world.get(IdempotencyStore), 'answer').mockRejectedValue(new Error('dead'));
    jest.spyOn(world.get(IdempotencyRedis), 'finish').mockRejectedValue(new Error('dead'));
    expect((await make('dead', 'k8')).status).toBe(201);
    jest.restoreAllMocks();
    // The claim stands for a while, then it has ended.
    expect((await make('dead', 'k8')).body.code).toBe('IN_PROGRESS');
    await forgetAll();
    expect(await make('dead', 'k8')).toMatchObject({ status: 409, body: { code: 'CONFLICT' } });
    expect(await groupsNamed('dead')).toBe(1);
  });

  it('the claim ended while the call still ran: whoever commits second is rolled back', async () => {
    jest.spyOn(world.get(IdempotencyRedis), 'claim').mockResolvedValue({ outcome: 'claimed' });
    const find = jest.spyOn(world.get(IdempotencyStore), 'find').mockResolvedValue(null);
    const answers = await Promise.all(Array.from({ length: 5 }, () => make('slow', 'k9')));
    expect(find).toHaveBeenCalledTimes(5);
    expect(codes(answers).sort()).toEqual(['201 ', ...Array<string>(4).fill('409 IN_PROGRESS')]);
    expect(await groupsNamed('slow')).toBe(1);
  });

  it('a claim that a frozen Redis took late holds back nobody whose call was answered', async () => {
    const first = await make('late claim', 'k15');
    const redis = world.get(RedisClients).command;
    const [key] = (await redis.call('KEYS', `${world.stage.name}:*:idem:*k15*`)) as string[];
    const digest = await redis.hget(key, 'digest');
    await redis.del(key);
    await redis.hset(key, { state: 'pending', owner: 'timed out', digest });
    await redis.expire(key, 60);
    expect(await make('late claim', 'k15')).toMatchObject({ status: 201, body: first.body });
  });

  it('Redis does not say who is at work: a call that was committed just now is running, one of long ago has lost its answer', async () => {
    const { digest } = (
      await world.sql<{ digest: Buffer }>('demo', "SELECT digest FROM im_idempotency_keys WHERE id_key = 'k15'")
    )[0];
    const again = async (ageSeconds: number): Promise<string | undefined> => {
      await world.sql(
        'demo',
        `UPDATE im_idempotency_keys SET answer = NULL, created_at = NOW(3) - INTERVAL ? SECOND WHERE id_key = 'k15'`,
        [ageSeconds],
      );
      return (await make('late claim', 'k15')).body.code;
    };
    expect(digest).toHaveLength(32);
    jest.spyOn(world.get(IdempotencyRedis), 'claim').mockRejectedValue(new Error('no answer'));
    expect([await again(5), await again(70)]).toEqual(['IN_PROGRESS', 'CONFLICT']);
  });

  it('a day has passed: the key is free', async () => {
    await make('yesterday', 'k10');
    await world.sql(
      'demo',
      "UPDATE im_idempotency_keys SET created_at = created_at - INTERVAL 25 HOUR WHERE id_key = 'k10'",
    );
    await forgetAll();
    expect((await make('today', 'k10')).status).toBe(201);
  });

  it('keys of days long gone are taken away by whatever keyed call comes next', async () => {
    const kept = () => world.sql('demo', "SELECT id_key FROM im_idempotency_keys WHERE id_key IN ('k13', 'k14')");
    await make('long ago', 'k13');
    await world.sql(
      'demo',
      "UPDATE im_idempotency_keys SET created_at = created_at - INTERVAL 3 DAY WHERE id_key = 'k13'",
    );
    await make('now', 'k14', bob);
    expect(await kept()).toEqual([{ id_key: 'k14' }]);
  });

  it('a claim without an end blocks nobody for ever', async () => {
    const redis = world.get(RedisClients).command;
    await make('healed', 'k11');
    const [key] = (await redis.call('KEYS', `${world.stage.name}:*:idem:*k11*`)) as string[];
    await redis.hset(key, { state: 'pending', owner: 'nobody' });
    await redis.persist(key);
    expect((await make('healed', 'k11')).status).toBe(201);
    expect(await redis.pttl(key)).toBeGreaterThan(0);
    expect(await groupsNamed('healed')).toBe(1);
  });

  it('Redis is away: it is done once all the same', async () => {
    world.redis.cut();
    try {
      const answers = await Promise.all(Array.from({ length: 10 }, () => make('no redis', 'k12')));
      // The group is there; that it could not be told to all nodes may be said in the answer.
      expect(answers.length).toBe(10);
      expect(await groupsNamed('no redis')).toBe(1);
    } finally {
      world.redis.mend();
      await until('Redis is back', async () => (await fetch(`${world.node.url}/health/ready`)).status === 200);
    }
    expect(await groupsNamed('no redis')).toBe(1);
  }, 60_000);
});
