import { JwtService } from '@nestjs/jwt';
import { AuthService } from '../../../src/modules/auth/auth.service.js';
import { Passwords } from '../../../src/modules/auth/passwords.js';
import type { TokenPair } from '../../../src/modules/auth/auth.types.js';
import { PASSWORD, World } from './world.js';

let world: World;
let demo: string;
let rival: string;

beforeAll(async () => {
  world = await World.open(async (stage) => {
    demo = await stage.tenant('demo', ['alice', 'bob'], { registration: 'open' });
    rival = await stage.tenant('rival', ['alice', 'bob']);
  });
}, 30_000);
afterAll(() => world.close());
afterEach(() => jest.restoreAllMocks());

const login = (body: object) => world.call<TokenPair>('POST', '/v1/auth/login', { body });

describe('enterprise code', () => {
  it('gives the tenant and a login token that only its hash is kept of', async () => {
    const answer = await world.call('POST', '/v1/auth/enterprise', { body: { code: 'demo' } });
    expect(answer).toMatchObject({ status: 200, body: { tenantId: demo, tenantName: 'demo', expiresIn: 600 } });
    expect(answer.body.loginToken).toMatch(new RegExp(`^${demo}\\.[A-Za-z0-9_-]{43}$`));
  });

  it.each([
    [{ code: 'nowhere' }, 404, 'TENANT_UNKNOWN'],
    [{ code: 'DEMO' }, 404, 'TENANT_UNKNOWN'],
    [{ code: '__proto__' }, 404, 'TENANT_UNKNOWN'],
    [{}, 400, 'VALIDATION_FAILED'],
    [{ code: { $ne: 1 } }, 400, 'VALIDATION_FAILED'],
    [{ code: ['demo'] }, 400, 'VALIDATION_FAILED'],
    [{ code: 'demo', tenantId: '2' }, 400, 'VALIDATION_FAILED'],
  ])('refuses %j', async (body, status, code) => {
    expect(await world.call('POST', '/v1/auth/enterprise', { body })).toMatchObject({ status, body: { code } });
  });
});

describe('login', () => {
  it('answers tokens that carry tenant, user and session', async () => {
    const pair = await world.login('demo', 'alice');
    const { t, sub, sid, exp } = new JwtService().decode<Record<string, unknown>>(pair.accessToken);
    expect({ t, sub }).toEqual({ t: demo, sub: pair.uid });
    expect(sid).toMatch(/^\d+$/);
    expect(Number(exp) - Date.now() / 1000).toBeGreaterThan(3600 - 5);
    expect(pair.refreshToken.startsWith(`${demo}.`)).toBe(true);
    const stored = await world.sql<{ hash: Buffer }>('demo', 'SELECT hash FROM im_refresh_tokens');
    expect(stored.map((row) => row.hash.toString('base64url'))).not.toContain(pair.refreshToken.split('.')[1]);
  });

  it('does the same work and gives the same answer for an unknown account, a wrong password and a disabled user', async () => {
    const compared = jest.spyOn(Passwords.prototype, 'verify');
    const loginToken = await world.loginToken('demo');
    await world.sql('demo', "UPDATE im_users SET status = 'disabled' WHERE account = 'bob'");
    const answers = [
      await login({ loginToken, account: 'alice', password: 'wrong password' }),
      await login({ loginToken, account: 'nobody', password: 'wrong password' }),
      await login({ loginToken, account: 'no such name!', password: 'wrong password' }),
      await login({ loginToken, account: 'bob', password: PASSWORD }),
    ];
    await world.sql('demo', "UPDATE im_users SET status = 'active' WHERE account = 'bob'");
    const texts = answers.map(({ status, body }) => JSON.stringify({ status, ...body, requestId: '' }));
    expect(new Set(texts).size).toBe(1);
    expect(answers[0]).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
    expect(compared).toHaveBeenCalledTimes(answers.length);
    expect((await login({ loginToken, account: 'alice', password: PASSWORD })).status).toBe(200);
  });

  it('compares an unknown account with a hash of the same cost', async () => {
    const passwords = new Passwords();
    const [known, dummy] = [await passwords.hash('x'), await passwords['dummyHash']()];
    expect(known).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    expect(dummy.split('$').slice(0, 4)).toEqual(known.split('$').slice(0, 4));
    expect(await passwords.verify(null, 'nobody has this password')).toBe(false);
  });

  it('with a password that is changed while it is compared begins no session', async () => {
    const passwords = world.get(Passwords);
    const verify = passwords.verify.bind(passwords);
    const [{ password_hash: before }] = await world.sql<{ password_hash: string }>(
      'demo',
      "SELECT password_hash FROM im_users WHERE account = 'alice'",
    );
    const store = (hash: string) =>
      world.sql('demo', "UPDATE im_users SET password_hash = ? WHERE account = 'alice'", [hash]);
    jest.spyOn(passwords, 'verify').mockImplementation(async (stored, password) => {
      const right = await verify(stored, password);
      await store(`${before}x`);
      return right;
    });
    const body = { loginToken: await world.loginToken('demo'), account: 'alice', password: PASSWORD };
    const answer = await world.call('POST', '/v1/auth/login', { body });
    await store(before);
    expect(answer).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
    jest.restoreAllMocks();
    expect((await world.call('POST', '/v1/auth/login', { body })).status).toBe(200);
  });

  it('compares accounts byte for byte', async () => {
    const loginToken = await world.loginToken('demo');
    for (const account of ['Alice', 'alice ', 'alicé', 'al%']) {
      expect((await login({ loginToken, account, password: PASSWORD })).body.code).toBe('UNAUTHENTICATED');
    }
  });

  it.each([
    { account: { $ne: '' } },
    { account: ['alice'] },
    { account: 1 },
    { account: null },
    { password: { length: 9 } },
    { password: 'x'.repeat(129) },
    { loginToken: 5 },
    { tenantId: '2' },
    { deviceId: 'a b' },
    { device: 'toaster' },
  ])('refuses %j', async (wrong) => {
    const body = { loginToken: await world.loginToken('demo'), account: 'alice', password: PASSWORD, ...wrong };
    expect(await login(body)).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
  });

  it('takes no login token that was changed, invented or made for another purpose', async () => {
    const [tenant, secret] = (await world.loginToken('demo')).split('.');
    const pair = await world.login('demo', 'alice');
    for (const loginToken of [
      `${rival}.${secret}`,
      `${tenant}.${'A'.repeat(43)}`,
      secret,
      pair.refreshToken,
      '1.2.3',
    ]) {
      const answer = await login({ loginToken, account: 'alice', password: PASSWORD });
      expect(answer).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
    }
  });
});

describe('registration', () => {
  const register = async (code: string, more: object) =>
    world.call<TokenPair>('POST', '/v1/auth/register', {
      body: { loginToken: await world.loginToken(code), password: PASSWORD, nickname: 'New', ...more },
    });

  it('makes an account once and logs in', async () => {
    const answer = await register('demo', { account: 'New.user@x-1', nickname: '新 🎉' });
    expect(answer.status).toBe(201);
    const me = await world.call('GET', '/v1/im/users/me', { token: answer.body.accessToken });
    expect(me.body).toMatchObject({ uid: answer.body.uid, account: 'New.user@x-1', nickname: '新 🎉' });
    expect((await register('demo', { account: 'New.user@x-1' })).body.code).toBe('CONFLICT');
    expect((await register('demo', { account: 'new.user@x-1' })).status).toBe(201);
  });

  it('makes one of two that come at once', async () => {
    const answers = await Promise.all([1, 2, 3, 4].map(() => register('demo', { account: 'twins' })));
    expect(answers.map((answer) => answer.status).sort()).toEqual([201, 409, 409, 409]);
  });

  it('is closed unless the tenant opens it', async () => {
    expect(await register('rival', { account: 'stranger' })).toMatchObject({
      status: 403,
      body: { code: 'FORBIDDEN' },
    });
  });

  it.each([
    { account: 'ab' },
    { account: 'a b c' },
    { account: 'élise' },
    { account: 'a'.repeat(65) },
    { password: 'short' },
    { password: 'x'.repeat(129) },
    { nickname: '' },
    { nickname: '   ' },
    { nickname: 'a\nb' },
    { nickname: 'a\u0000b' },
    { nickname: '\ud800' },
    { nickname: 'n'.repeat(65) },
  ])('refuses %j', async (wrong) => {
    const answer = await register('demo', { account: 'somebody', ...wrong });
    expect(answer).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
  });
});

describe('two tenants', () => {
  it('keep users of one name apart, whatever else a request says', async () => {
    const a = await world.login('demo', 'alice');
    const b = await world.login('rival', 'alice');
    expect(a.uid).toBe(b.uid);
    await world.call('PATCH', '/v1/im/users/me', { token: a.accessToken, body: { nickname: 'Demo Alice' } });
    await world.call('PATCH', '/v1/im/users/me', { token: b.accessToken, body: { nickname: 'Rival Alice' } });
    const headers = { 'x-tenant-id': rival, 'x-tenant': 'rival' };
    const me = await world.call('GET', `/v1/im/users/me?tenant=${rival}`, { token: a.accessToken, headers });
    expect(me.body.nickname).toBe('Demo Alice');
    const peer = await world.call('GET', `/v1/im/users/${a.uid}`, { token: b.accessToken });
    expect(peer.body.nickname).toBe('Rival Alice');
  });

  it('know nothing of each other’s sessions', async () => {
    const a = await world.login('demo', 'bob');
    const b = await world.login('rival', 'bob');
    await world.call('POST', '/v1/auth/logout', { token: a.accessToken, body: { all: true } });
    expect((await world.call('GET', '/v1/im/users/me', { token: a.accessToken })).status).toBe(401);
    expect((await world.call('GET', '/v1/im/users/me', { token: b.accessToken })).status).toBe(200);
  });

  it('take no refresh token that was moved to the other', async () => {
    const a = await world.login('demo', 'alice');
    const moved = `${rival}.${a.refreshToken.split('.')[1]}`;
    expect((await world.refresh(moved)).body.code).toBe('UNAUTHENTICATED');
    expect((await world.refresh(`999.${a.refreshToken.split('.')[1]}`)).body.code).toBe('UNAUTHENTICATED');
    expect((await world.refresh(a.refreshToken)).status).toBe(200);
  });
});

describe('access tokens', () => {
  const secret = 'j'.repeat(40);
  const jwt = new JwtService();
  const options = {
    secret,
    algorithm: 'HS256',
    issuer: 'trident-im',
    audience: 'trident-im/access',
    expiresIn: 60,
  } as const;
  const auth = () => world.get(AuthService);

  async function claims(): Promise<{ t: string; sub: string; sid: string }> {
    const { t, sub, sid } = jwt.decode<Record<string, string>>((await world.login('demo', 'alice')).accessToken);
    return { t, sub, sid };
  }

  it('that are whole are taken (so that the refusals below mean something)', async () => {
    const good = await claims();
    const { actor, expiresAtMs } = await auth().authenticate(jwt.sign(good, options));
    expect(actor).toEqual({ tenant: demo, uid: good.sub, sessionId: good.sid });
    expect(expiresAtMs - Date.now()).toBeGreaterThan(50_000);
    expect(expiresAtMs - Date.now()).toBeLessThanOrEqual(60_000);
  });

  it('that are forged are refused', async () => {
    const good = await claims();
    const none = [
      { alg: 'none', typ: 'JWT' },
      { ...good, iss: options.issuer, aud: options.audience, exp: 4e9 },
    ]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
    const [head, , signature] = jwt.sign(good, options).split('.');
    const edited = Buffer.from(JSON.stringify({ ...good, t: rival, exp: 4e9 })).toString('base64url');
    const forged = [
      `${none}.`,
      none,
      `${head}.${edited}.${signature}`,
      jwt.sign(good, { ...options, secret: 'k'.repeat(40) }),
      jwt.sign(good, { ...options, algorithm: 'HS512' }),
      jwt.sign(good, { ...options, issuer: 'somebody' }),
      jwt.sign(good, { ...options, audience: 'trident-im/refresh' }),
      jwt.sign({ ...good, iss: options.issuer, aud: options.audience }, { secret }),
      '',
      'x',
      'a.b.c',
      undefined,
      null,
      5,
      {},
      [good],
    ];
    for (const token of forged) {
      await expect(auth().authenticate(token)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    }
  });

  it.each([
    ['sub', undefined],
    ['sub', ''],
    ['sub', '0'],
    ['sub', '01'],
    ['sub', '1 OR 1=1'],
    ['sid', undefined],
    ['sid', null],
    ['sid', 1],
    ['sid', {}],
    ['t', undefined],
    ['t', '0'],
    ['t', ['1']],
    ['t', '99999'],
  ])('with the claim %s = %j are refused before anything is looked up', async (name, value) => {
    const forged: Record<string, unknown> = { ...(await claims()), [name]: value };
    if (value === undefined) delete forged[name];
    const token = jwt.sign(forged, { ...options });
    await expect(auth().authenticate(token)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });

  it('that have ended say so', async () => {
    const token = jwt.sign(await claims(), { ...options, expiresIn: -1 });
    const answer = await world.call('GET', '/v1/im/users/me', { token });
    expect(answer).toMatchObject({ status: 401, body: { code: 'TOKEN_EXPIRED' } });
  });

  it('of a session of somebody else are refused', async () => {
    const alice = await claims();
    const bob = jwt.decode<Record<string, string>>((await world.login('demo', 'bob')).accessToken);
    await world.get(AuthService).authenticate(jwt.sign(alice, options));
    const mixed = jwt.sign({ ...alice, sid: '888888' }, options);
    await expect(auth().authenticate(mixed)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    expect(bob.sid).not.toBe(alice.sid);
  });

  it.each(['', 'Bearer', 'Bearer ', 'Basic abc', 'Bearer a, Bearer b', 'Token x'])(
    'are asked for as Bearer, not as %j',
    async (authorization) => {
      const answer = await world.call('GET', '/v1/im/users/me', { headers: { authorization } });
      expect(answer).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
    },
  );
});
