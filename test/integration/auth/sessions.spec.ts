import { createHash } from 'node:crypto';
import { createConnection, type Connection } from 'mysql2/promise';
import type { SessionView } from '../../../src/modules/auth/dto/auth.dto.js';
import { AuthService } from '../../../src/modules/auth/auth.service.js';
import { SessionStore } from '../../../src/modules/auth/session.store.js';
import { NodeBus } from '../../../src/platform/redis/node-bus.js';
import { RedisScripts } from '../../../src/platform/redis/redis-scripts.js';
import { databaseAt, givenServers } from '../../support/environment.js';
import { PASSWORD, until, World } from './world.js';

let world: World;

beforeAll(async () => {
  world = await World.open(async (stage) => {
    await stage.tenant('demo', ['alice', 'bob', 'carol']);
    await stage.tenant('rival', ['alice']);
  });
}, 30_000);
afterAll(() => world.close());
afterEach(() => jest.restoreAllMocks());

const me = (token: string) => world.call('GET', '/v1/im/users/me', { token });
const logout = (token: string, body: object = {}) => world.call('POST', '/v1/auth/logout', { token, body });
const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest();

/** Lets time pass for one token: as if it had been exchanged `seconds` earlier. */
const age = (token: string, seconds: number) =>
  world.sql('demo', 'UPDATE im_refresh_tokens SET used_at = used_at - INTERVAL ? SECOND WHERE hash = ?', [
    seconds,
    hashOf(token),
  ]);

async function unusable(refreshToken: string): Promise<void> {
  expect(await world.refresh(refreshToken)).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
}

describe('refresh', () => {
  it('answers as a login does and exchanges the token', async () => {
    const first = await world.login('demo', 'alice');
    const second = (await world.refresh(first.refreshToken)).body;
    expect(second).toEqual({
      uid: first.uid,
      accessToken: expect.any(String),
      refreshToken: expect.stringMatching(/^\d+\.[\w-]{43}$/),
      expiresIn: 3600,
    });
    expect(second.refreshToken).not.toBe(first.refreshToken);
    expect((await me(second.accessToken)).status).toBe(200);
    expect((await world.refresh(second.refreshToken)).status).toBe(200);
  });

  it('gives ten that come at once one and the same successor', async () => {
    const { refreshToken } = await world.login('demo', 'alice');
    const answers = await Promise.all(Array.from({ length: 10 }, () => world.refresh(refreshToken)));
    expect(answers.map((answer) => answer.status)).toEqual(Array(10).fill(200));
    expect(new Set(answers.map((answer) => answer.body.refreshToken)).size).toBe(1);
    const rows = await world.sql<{ n: string }>(
      'demo',
      `SELECT COUNT(*) AS n FROM im_refresh_tokens t JOIN im_refresh_tokens f ON f.session_id = t.session_id
       WHERE f.hash = ?`,
      [hashOf(refreshToken)],
    );
    expect(Number(rows[0].n)).toBe(2);
  });

  it('answers a repetition nine seconds later by the same successor, also when that one was used meanwhile', async () => {
    const { refreshToken } = await world.login('demo', 'alice');
    const successor = (await world.refresh(refreshToken)).body.refreshToken;
    await world.refresh(successor);
    await age(refreshToken, 9);
    expect((await world.refresh(refreshToken)).body.refreshToken).toBe(successor);
  });

  it('ends the session when an exchanged token is shown again after the grace', async () => {
    const thief = await world.login('demo', 'alice');
    const owner = (await world.refresh(thief.refreshToken)).body;
    await age(thief.refreshToken, 11);
    await unusable(thief.refreshToken);
    await unusable(owner.refreshToken);
    expect((await me(owner.accessToken)).status).toBe(401);
    const [row] = await world.sql<{ reason: string }>(
      'demo',
      'SELECT reason FROM im_sessions ORDER BY revoked_at DESC, id DESC LIMIT 1',
    );
    expect(row.reason).toBe('refresh_reuse');
  });

  it('ends only that session', async () => {
    const [stolen, other] = [await world.login('demo', 'alice'), await world.login('demo', 'alice')];
    await world.refresh(stolen.refreshToken);
    await age(stolen.refreshToken, 11);
    await unusable(stolen.refreshToken);
    expect((await me(other.accessToken)).status).toBe(200);
    expect((await world.refresh(other.refreshToken)).status).toBe(200);
  });

  it('refuses a token that has ended, one of a disabled user, and what is no token', async () => {
    const ended = await world.login('demo', 'alice');
    await world.sql('demo', 'UPDATE im_refresh_tokens SET expires_at = NOW(3) WHERE hash = ?', [
      hashOf(ended.refreshToken),
    ]);
    await unusable(ended.refreshToken);
    const disabled = await world.login('demo', 'carol');
    await world.sql('demo', "UPDATE im_users SET status = 'disabled' WHERE account = 'carol'");
    await unusable(disabled.refreshToken);
    expect((await me(disabled.accessToken)).status).toBe(401);
    for (const token of ['x', '1.x', ended.accessToken, `0.${'A'.repeat(43)}`]) {
      expect((await world.refresh(token)).status).toBeGreaterThanOrEqual(400);
    }
  });

  it('never outlives a logout that runs at the same time', async () => {
    for (let round = 0; round < 10; round += 1) {
      const pair = await world.login('demo', 'alice');
      const [, ...refreshed] = await Promise.all([
        logout(pair.accessToken),
        ...Array.from({ length: 4 }, () => world.refresh(pair.refreshToken)),
      ]);
      for (const { status, body } of refreshed) {
        if (status !== 200) continue;
        await unusable(body.refreshToken);
        expect((await me(body.accessToken)).status).toBe(401);
      }
      await unusable(pair.refreshToken);
    }
  }, 30_000);
});

describe('a refresh that finds the session locked', () => {
  /** Changes the session in a transaction that ends only after a refresh waits for it. */
  async function during(refreshToken: string, change: (held: Connection) => Promise<unknown>) {
    const held = await createConnection(databaseAt(givenServers(), `${world.stage.name}_demo`));
    try {
      await held.beginTransaction();
      await held.query(
        `SELECT s.id FROM im_sessions s JOIN im_refresh_tokens t ON t.session_id = s.id WHERE t.hash = ? FOR UPDATE`,
        [hashOf(refreshToken)],
      );
      await change(held);
      const refreshed = world.refresh(refreshToken);
      // (information_schema.innodb_trx shows a stale picture to whoever asks it often.)
      await until('the refresh waits', async () => {
        const [row] = await world.sql<{ Status: string }>('demo', 'SHOW ENGINE INNODB STATUS');
        return row.Status.includes('LOCK WAIT');
      });
      await held.commit();
      return await refreshed;
    } finally {
      held.destroy();
    }
  }

  it('is refused when a logout held it', async () => {
    const { refreshToken } = await world.login('demo', 'alice');
    const answer = await during(refreshToken, (held) =>
      held.query(
        'UPDATE im_sessions SET revoked_at = NOW(3) WHERE id = (SELECT session_id FROM im_refresh_tokens WHERE hash = ?)',
        [hashOf(refreshToken)],
      ),
    );
    expect(answer).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
  });

  it('sees that another refresh has exchanged the token', async () => {
    const { refreshToken } = await world.login('demo', 'alice');
    const answer = await during(refreshToken, (held) =>
      held.query('UPDATE im_refresh_tokens SET used_at = NOW(3) - INTERVAL 1 MINUTE WHERE hash = ?', [
        hashOf(refreshToken),
      ]),
    );
    expect(answer).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
  });
});

describe('logout', () => {
  it('ends the session at once and asks every node to close its sockets', async () => {
    const asked = jest.spyOn(world.get(NodeBus), 'askAll');
    const [one, other] = [await world.login('demo', 'bob'), await world.login('demo', 'bob')];
    const { actor } = await world.get(AuthService).authenticate(one.accessToken);
    expect((await logout(one.accessToken)).status).toBe(204);
    expect((await me(one.accessToken)).body.code).toBe('UNAUTHENTICATED');
    await unusable(one.refreshToken);
    expect((await me(other.accessToken)).status).toBe(200);
    const closed = { tenant: actor.tenant, uid: actor.uid, sessionIds: [actor.sessionId] };
    expect(asked.mock.calls.map(([kind, payload]) => [kind, payload])).toEqual([['session:close', closed]]);
  });

  it('of all ends all of the user and nobody else’s', async () => {
    const mine = [await world.login('demo', 'bob'), await world.login('demo', 'bob')];
    const others = [await world.login('demo', 'alice'), await world.login('rival', 'alice')];
    expect((await logout(mine[0].accessToken, { all: true })).status).toBe(204);
    for (const pair of mine) {
      expect((await me(pair.accessToken)).status).toBe(401);
      await unusable(pair.refreshToken);
    }
    for (const pair of others) expect((await me(pair.accessToken)).status).toBe(200);
  });

  it.each([
    ['one', 'DELETE', (id: string) => `/v1/auth/sessions/${id}`, 404],
    ['all', 'POST', () => '/v1/auth/logout', 204],
  ])(
    'of %s that is repeated is told again: who ended it may have died before he could',
    async (what, method, at, status) => {
      const [ended, other] = [await world.login('demo', 'bob'), await world.login('demo', 'bob')];
      const { actor } = await world.get(AuthService).authenticate(ended.accessToken);
      await world.sql('demo', 'UPDATE im_sessions SET revoked_at = NOW(3) WHERE id = ?', [actor.sessionId]);
      expect((await me(ended.accessToken)).status).toBe(200);
      const body = what === 'all' ? { all: true } : undefined;
      const again = await world.call(method, at(actor.sessionId), { token: other.accessToken, body });
      expect(again.status).toBe(status);
      expect((await me(ended.accessToken)).status).toBe(401);
    },
  );

  it('of all tells every node once, however many sessions there are', async () => {
    const asked = jest.spyOn(world.get(NodeBus), 'askAll');
    const pairs = [];
    for (let count = 0; count < 5; count += 1) pairs.push(await world.login('demo', 'alice'));
    expect((await logout(pairs[0].accessToken, { all: true })).status).toBe(204);
    const told = asked.mock.calls.filter(([kind]) => kind === 'session:close');
    expect(told).toHaveLength(1);
    expect((told[0][1] as { sessionIds: string[] }).sessionIds.length).toBeGreaterThanOrEqual(5);
    for (const { accessToken } of pairs) expect((await me(accessToken)).status).toBe(401);
  });

  it.each([{ all: 'yes' }, { all: 1 }, { all: null }, { everything: true }])('refuses %j', async (body) => {
    const { accessToken } = await world.login('demo', 'bob');
    expect((await logout(accessToken, body)).body.code).toBe('VALIDATION_FAILED');
    expect((await me(accessToken)).status).toBe(200);
  });

  it('holds although Redis loses everything: MySQL is asked', async () => {
    const [gone, stays] = [await world.login('demo', 'bob'), await world.login('demo', 'bob')];
    await logout(gone.accessToken);
    const marks = await world
      .get(RedisScripts)
      .command('test', (client) => client.keys(`${world.stage.name}:*:revoked`));
    await world.get(RedisScripts).command('test', (client) => client.del(...marks));
    const asked = jest.spyOn(SessionStore.prototype, 'stands');
    expect((await me(gone.accessToken)).status).toBe(401);
    expect((await me(stays.accessToken)).status).toBe(200);
    expect(asked).toHaveBeenCalledTimes(2);
    expect((await me(stays.accessToken)).status).toBe(200);
    expect(asked).toHaveBeenCalledTimes(2);
  });
});

describe('the list of sessions', () => {
  it('shows the own ones that stand, and any of them can be ended from there', async () => {
    await logout((await world.login('demo', 'bob')).accessToken, { all: true });
    const body = { loginToken: await world.loginToken('demo'), account: 'bob', password: PASSWORD };
    await world.call('POST', '/v1/auth/login', { body: { ...body, deviceId: 'phone-1', device: 'ios' } });
    const current = await world.login('demo', 'bob');
    await world.login('demo', 'alice');
    const listed = async (): Promise<SessionView[]> =>
      (await world.call<{ items: SessionView[] }>('GET', '/v1/auth/sessions', { token: current.accessToken })).body
        .items;
    const [here, phone, ...rest] = await listed();
    expect(rest).toEqual([]);
    expect(here).toMatchObject({ deviceId: null, device: null, current: true });
    expect(phone).toMatchObject({ deviceId: 'phone-1', device: 'ios', current: false });
    expect(new Date(phone.createdAt).toISOString()).toBe(phone.createdAt);
    const end = (id: string) => world.call('DELETE', `/v1/auth/sessions/${id}`, { token: current.accessToken });
    expect((await end(phone.sessionId)).status).toBe(204);
    expect((await end(phone.sessionId)).body.code).toBe('NOT_FOUND');
    expect((await listed()).map((session) => session.sessionId)).toEqual([here.sessionId]);
  });

  it('does not let anybody end a session of somebody else', async () => {
    const alice = await world.login('demo', 'alice');
    const bob = await world.login('demo', 'bob');
    const { actor } = await world.get(AuthService).authenticate(alice.accessToken);
    for (const id of [actor.sessionId, '999999', '0', 'all', '%00']) {
      const answer = await world.call('DELETE', `/v1/auth/sessions/${id}`, { token: bob.accessToken });
      expect([400, 404]).toContain(answer.status);
    }
    expect((await me(alice.accessToken)).status).toBe(200);
  });
});

describe('without Redis', () => {
  afterEach(async () => {
    world.redis.mend();
    await until('Redis answers again', async () => (await world.loginToken('demo')) !== undefined);
  });

  it('nobody new comes in, and those who are in go on by MySQL', async () => {
    const pair = await world.login('demo', 'bob');
    const loginToken = await world.loginToken('demo');
    world.redis.cut();
    const refused = { status: 503, body: { code: 'SHORT_STATE_UNAVAILABLE', retryable: true } };
    expect(await world.call('POST', '/v1/auth/enterprise', { body: { code: 'demo' } })).toMatchObject(refused);
    const body = { loginToken, account: 'bob', password: PASSWORD };
    expect(await world.call('POST', '/v1/auth/login', { body })).toMatchObject(refused);
    const register = { ...body, account: 'somebody', nickname: 'x' };
    expect(await world.call('POST', '/v1/auth/register', { body: register })).toMatchObject(refused);
    expect((await me(pair.accessToken)).status).toBe(200);
    expect((await world.refresh(pair.refreshToken)).status).toBe(200);
  });

  it('a logout is in force here at once, and told to the others as soon as Redis is back', async () => {
    const pair = await world.login('demo', 'bob');
    const { actor } = await world.get(AuthService).authenticate(pair.accessToken);
    world.redis.cut();
    expect((await logout(pair.accessToken)).status).toBe(204);
    expect((await me(pair.accessToken)).status).toBe(401);
    await unusable(pair.refreshToken);
    const closed = jest.spyOn(world.get(NodeBus), 'askAll');
    world.redis.mend();
    const key = `${world.stage.name}:${actor.tenant}:session:{${actor.sessionId}}:revoked`;
    const mark = () =>
      world
        .get(RedisScripts)
        .command('test', (client) => client.get(key))
        .catch(() => null);
    await until('the mark says revoked', async () => (await mark()) === '1');
    await until('the nodes were asked', () => closed.mock.calls.some(([kind]) => kind === 'session:close'));
  });
});
