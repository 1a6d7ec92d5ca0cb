import type { TokenPair } from '../../../src/modules/auth/auth.types.js';
import { until } from '../auth/world.js';
import { newPhone, PhoneWorld, type Asker } from './phones.js';

let phones: PhoneWorld;

beforeAll(async () => {
  phones = await PhoneWorld.open(async (stage) => {
    await stage.tenant('demo', ['alice'], { registration: 'open' });
    await stage.tenant('rival', ['alice'], { registration: 'open' });
    await stage.tenant('strict', ['alice'], { registration: 'open', registrationSms: true });
  });
}, 60_000);
afterAll(() => phones.close());

const tenantId = async (code: string): Promise<string> => (await phones.world.loginToken(code)).split('.')[0];
const me = (pair: TokenPair) => phones.world.call('GET', '/v1/im/users/me', { token: pair.accessToken });

describe('registration', () => {
  it('wants a verified phone where the tenant says so, and binds it', async () => {
    const asker = await phones.asker('strict');
    expect(await phones.register(asker, 'without')).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
    const pair = await phones.registered(asker, 'with-phone');
    expect((await me(pair)).body).toMatchObject({ uid: pair.uid, account: 'with-phone' });
    const login = await phones.login(asker, { actionToken: await phones.actionToken(asker, 'login') });
    expect(login).toMatchObject({ status: 200, body: { uid: pair.uid } });
  });

  it('does not use the token up for a name that is taken, and makes one account of many calls at once', async () => {
    const asker = await phones.asker('demo');
    const actionToken = await phones.actionToken(asker, 'register');
    expect((await phones.register(asker, 'alice', { actionToken })).body.code).toBe('CONFLICT');
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) => phones.register(asker, `many-${n}`, { actionToken })),
    );
    expect(answers.map(({ status, body }) => body.code ?? status).sort()).toEqual([
      201,
      ...Array(7).fill('TOKEN_USED'),
    ]);
    const rows = await phones.world.sql('demo', "SELECT id FROM im_users WHERE account LIKE 'many-%'");
    expect(rows).toHaveLength(1);
  });

  it('gives a phone to one account only, and says so to its holder alone', async () => {
    const asker = await phones.asker('demo');
    await phones.registered(asker, 'first-owner');
    const other = await phones.asker('demo', { phone: asker.phone });
    const actionToken = await phones.actionToken(other, 'register');
    expect(await phones.register(other, 'second-owner', { actionToken })).toMatchObject({
      status: 409,
      body: { code: 'CONFLICT' },
    });
    expect(await phones.world.sql('demo', "SELECT id FROM im_users WHERE account = 'second-owner'")).toEqual([]);
  });
});

describe('an action token', () => {
  it.each([
    ['register', 'login'],
    ['reset', 'login'],
    ['bind', 'login'],
    ['login', 'reset'],
    ['register', 'reset'],
    ['login', 'register'],
    ['reset', 'register'],
  ] as const)(
    'for %s is not good for %s, whether Redis knows it or not, and stays good for its own',
    async (scene, use) => {
      const asker = await phones.asker('demo');
      const owner = await phones.registered(asker, `owner-${scene}-${use}`);
      const actionToken = scene === 'bind' ? await bindToken(owner) : await phones.actionToken(asker, scene);
      const tryIt = async () =>
        use === 'login'
          ? phones.login(asker, { actionToken })
          : use === 'reset'
            ? phones.reset(asker, actionToken, 'stolen-pass-1')
            : phones.register(asker, `thief-${scene}`, { actionToken });
      expect(await tryIt()).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
      await phones.forget();
      expect(await tryIt()).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
      expect((await phones.login(asker, { account: owner.account, password: 'first-pass-1' })).status).toBe(200);
      const [row] = await phones.world.sql<{ used_at: Date | null }>(
        'demo',
        'SELECT used_at FROM im_action_tokens ORDER BY created_at DESC LIMIT 1',
      );
      expect(row.used_at).toBeNull();
    },
  );

  it('is refused when it is forged, of another tenant, too old or used', async () => {
    const asker = await phones.asker('demo');
    await phones.registered(asker, 'token-owner');
    const actionToken = await phones.actionToken(asker, 'login');
    const secret = actionToken.split('.')[1];
    const rival = await phones.asker('rival');
    for (const forged of [
      `${await tenantId('rival')}.${secret}`,
      secret,
      `${await tenantId('demo')}.${'A'.repeat(43)}`,
      `${actionToken}x`,
      '__proto__',
      asker.loginToken,
    ]) {
      expect(await phones.login(asker, { actionToken: forged })).toMatchObject({
        status: 401,
        body: { code: 'UNAUTHENTICATED' },
      });
    }
    // The token as it is, shown to another tenant.
    expect((await phones.login(rival, { actionToken })).body.code).toBe('UNAUTHENTICATED');
    const answers = await Promise.all(Array.from({ length: 10 }, () => phones.login(asker, { actionToken })));
    expect(answers.map(({ status, body }) => body.code ?? status).sort()).toEqual([
      200,
      ...Array(9).fill('TOKEN_USED'),
    ]);
    await phones.aMinuteLater();
    const late = await phones.actionToken(asker, 'login');
    await phones.world.sql(
      'demo',
      'UPDATE im_action_tokens SET expires_at = NOW(3) - INTERVAL 1 SECOND WHERE used_at IS NULL',
    );
    expect((await phones.login(asker, { actionToken: late })).body.code).toBe('TOKEN_EXPIRED');
  });

  it('logs nobody in whose account is disabled or who has none', async () => {
    const asker = await phones.asker('demo');
    await phones.registered(asker, 'switched-off');
    await phones.world.sql('demo', "UPDATE im_users SET status = 'disabled' WHERE account = 'switched-off'");
    const stranger = await phones.asker('demo');
    const answers = [];
    for (const each of [asker, stranger]) {
      const { status, body } = await phones.login(each, { actionToken: await phones.actionToken(each, 'login') });
      answers.push(JSON.stringify({ status, ...body, requestId: '' }));
    }
    expect(answers[0]).toContain('UNAUTHENTICATED');
    expect(answers[0]).toBe(answers[1]);
  });

  it.each([
    { actionToken: null },
    { actionToken: '' },
    { actionToken: [] },
    { actionToken: { a: 1 } },
    { actionToken: 'x', account: 'alice', password: 'demo-pass-1' },
    { actionToken: 'x', password: 'demo-pass-1' },
    { account: 'alice' },
    {},
  ])('a login with %j is refused as it stands', async (body) => {
    const asker = await phones.asker('demo');
    expect(await phones.login(asker, body)).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
  });
});

describe('a password reset', () => {
  it('sets the password, ends all sessions and closes their sockets', async () => {
    const asker = await phones.asker('demo');
    const pair = await phones.registered(asker, 'forgetful');
    const phone = await phones.world.stage.connect(phones.world.node, { ...pair, account: 'forgetful' });
    const second = (await phones.login(asker, { account: 'forgetful', password: 'first-pass-1' })).body;
    const laptop = await phones.world.stage.connect(phones.world.node, { ...second, account: 'forgetful' });
    const actionToken = await phones.actionToken(asker, 'reset');
    expect((await phones.reset(asker, actionToken, 'second-pass-2')).status).toBe(204);
    await until('the sockets are closed', () => !phone.socket.connected && !laptop.socket.connected);
    expect(phone.events('session:closing')).toEqual([expect.objectContaining({ reason: 'revoked' })]);
    for (const session of [pair, second]) {
      expect((await me(session)).status).toBe(401);
      expect((await phones.world.refresh(session.refreshToken)).status).toBe(401);
    }
    expect((await phones.login(asker, { account: 'forgetful', password: 'first-pass-1' })).status).toBe(401);
    expect((await phones.login(asker, { account: 'forgetful', password: 'second-pass-2' })).status).toBe(200);
    expect((await phones.reset(asker, actionToken, 'third-pass-3')).body.code).toBe('TOKEN_USED');
    const audited = await phones.world.sql(
      'demo',
      "SELECT 1 FROM im_audit_logs WHERE action = 'auth.password.reset' AND target = ?",
      [pair.uid],
    );
    expect(audited).toHaveLength(1);
  });

  it.each(['short', 'x'.repeat(129), 5, null])(
    'does not take %j for a password, and keeps the token',
    async (password) => {
      const asker = await phones.asker('demo');
      const actionToken = await phones.actionToken(asker, 'reset');
      expect((await phones.reset(asker, actionToken, password as string)).body.code).toBe('VALIDATION_FAILED');
      const [{ n }] = await phones.world.sql<{ n: string }>(
        'demo',
        "SELECT COUNT(*) AS n FROM im_captchas WHERE status = 'verified'",
      );
      expect(Number(n)).toBeGreaterThan(0);
    },
  );

  it('of a phone without an account changes nothing', async () => {
    const asker = await phones.asker('demo');
    const before = await phones.world.sql('demo', 'SELECT id, password_hash FROM im_users ORDER BY id');
    expect((await phones.reset(asker, await phones.actionToken(asker, 'reset'), 'second-pass-2')).status).toBe(401);
    expect(await phones.world.sql('demo', 'SELECT id, password_hash FROM im_users ORDER BY id')).toEqual(before);
  });
});

/** A token to bind a new phone to a user. */
async function bindToken(user: { accessToken: string }, phone = newPhone()): Promise<string> {
  const sent = await sendBind(user.accessToken, phone);
  const { body } = await phones.verify(String(sent.body.captchaId), phones.sms.codeFor(phone));
  return body.actionToken;
}

const sendBind = (token: string | undefined, phone: string, more: object = {}) =>
  phones.world.call('POST', '/v1/auth/captchas', { token, body: { scene: 'bind', phone, ...more } });

const bind = (token: string, actionToken: string, password = 'first-pass-1') =>
  phones.world.call('POST', '/v1/auth/phone', { token, body: { actionToken, password } });

describe('binding a phone', () => {
  let asker: Asker;
  let bob: TokenPair & { account: string };
  let counter = 0;

  beforeEach(async () => {
    asker = await phones.asker('demo');
    counter += 1;
    bob = await phones.registered(asker, `binder-${counter}`);
  });

  it('is for who is logged in', async () => {
    expect((await sendBind(undefined, newPhone())).status).toBe(401);
    expect((await sendBind(undefined, newPhone(), { loginToken: asker.loginToken })).status).toBe(401);
    expect((await sendBind('nonsense', newPhone())).status).toBe(401);
  });

  it('replaces the phone, with the password once more', async () => {
    const phone = newPhone();
    const actionToken = await bindToken(bob, phone);
    expect((await bind(bob.accessToken, actionToken, 'wrong-pass-1')).body.code).toBe('FORBIDDEN');
    expect((await bind(bob.accessToken, actionToken)).status).toBe(204);
    const moved = await phones.asker('demo', { phone });
    const login = await phones.login(moved, { actionToken: await phones.actionToken(moved, 'login') });
    expect(login.body.uid).toBe(bob.uid);
    expect((await phones.login(asker, { actionToken: await phones.actionToken(asker, 'login') })).status).toBe(401);
    expect((await bind(bob.accessToken, actionToken)).body.code).toBe('TOKEN_USED');
  });

  it('does not take the token of another user, nor a phone that has an account', async () => {
    const carol = await phones.registered(await phones.asker('demo'), `other-${counter}`);
    const actionToken = await bindToken(carol);
    expect((await bind(bob.accessToken, actionToken)).body.code).toBe('UNAUTHENTICATED');
    expect((await bind(bob.accessToken, await bindToken(bob, asker.phone))).status).toBe(204);
    await phones.aMinuteLater();
    expect((await bind(carol.accessToken, await bindToken(carol, asker.phone))).body.code).toBe('CONFLICT');
    expect((await bind(carol.accessToken, actionToken)).status).toBe(204);
  });

  it('does not let a stolen access token guess the password', async () => {
    const actionToken = await bindToken(bob);
    const codes = [];
    for (let n = 0; n < 6; n += 1) codes.push((await bind(bob.accessToken, actionToken, `guess-${n}-xx`)).body.code);
    expect(codes).toEqual([...Array(5).fill('FORBIDDEN'), 'RATE_LIMITED']);
  });
});
