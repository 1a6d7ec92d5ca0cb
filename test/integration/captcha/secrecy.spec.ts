import { PASSWORD } from '../../support/stage.js';
import { databaseAt } from '../../support/environment.js';
import { queryOnce } from '../../../src/platform/mysql/query-once.js';
import { newPhone, PhoneWorld, wrongCodes } from './phones.js';

let phones: PhoneWorld;

beforeAll(async () => {
  phones = await PhoneWorld.open(async (stage) => {
    await stage.tenant('demo', ['alice'], { registration: 'open' });
  });
}, 60_000);
afterAll(() => phones.close());

/** Every value that stands in any table of the tenant or the control database, as text and as bytes. */
async function everythingInMysql(): Promise<string[]> {
  const values: string[] = [];
  for (const database of [`${phones.world.stage.name}_demo`, `${phones.world.stage.name}_control`]) {
    const at = databaseAt(phones.world.stage.servers, database);
    const sql = 'SELECT table_name AS name FROM information_schema.tables WHERE table_schema = ?';
    for (const { name } of await queryOnce<{ name: string }>(at, 5_000, sql, [database])) {
      const rows = await queryOnce<Record<string, unknown>>(at, 5_000, `SELECT * FROM \`${name}\``);
      for (const row of rows) values.push(...Object.values(row).flatMap((value) => textsOf(name, value)));
    }
  }
  return values;
}

function textsOf(table: string, value: unknown): string[] {
  if (value === null) return [];
  const texts = Buffer.isBuffer(value)
    ? [value.toString('latin1'), value.toString('hex'), value.toString('base64'), value.toString('base64url')]
    : [value instanceof Date ? value.toISOString() : String(value as string)];
  return texts.map((text) => `${table}: ${text}`);
}

/** Every key and value of the deployment. */
async function everythingInRedis(): Promise<string[]> {
  const { redis } = phones;
  const read: Record<string, (key: string) => Promise<unknown>> = {
    string: (key) => redis.getBuffer(key),
    hash: (key) => redis.hgetall(key),
    zset: (key) => redis.zrange(key, '0', '-1'),
    set: (key) => redis.smembers(key),
    // It ended since the list of keys was read.
    none: () => Promise.resolve(null),
  };
  const keys = await phones.keys();
  return Promise.all(
    keys.map(async (key) => {
      const value = await read[await redis.type(key)](key);
      return `${key} ${Buffer.isBuffer(value) ? value.toString('latin1') : JSON.stringify(value)}`;
    }),
  );
}

it('no phone, code, token or password can be read in MySQL or Redis, at any step', async () => {
  const secrets = new Map<string, string>();
  const dumps: string[] = [];
  const keep = (what: string, value: string): string => {
    secrets.set(what, value);
    return value;
  };
  const look = async (): Promise<void> =>
    void dumps.push(...(await everythingInMysql()), ...(await everythingInRedis()));

  const asker = await phones.asker('demo');
  keep('phone', asker.phone);
  const loginToken = keep('login token', asker.loginToken);
  const register = await phones.code(asker, 'register');
  keep('code to register', register.code);
  await phones.verify(register.captchaId, keep('wrong code', wrongCodes(register.code)[0]));
  await look();
  const { body: verified } = await phones.verify(register.captchaId, register.code);
  const actionToken = keep('action token to register', verified.actionToken);
  await look();
  const { body: pair } = await phones.register(asker, 'secretive', {
    actionToken,
    password: keep('password', 'p4ss-of-the-user'),
  });
  keep('access token', pair.accessToken);
  keep('refresh token', pair.refreshToken);
  await phones.login(
    { ...asker, loginToken },
    { account: 'secretive', password: keep('wrong password', 'wr0ng-one-x') },
  );
  await look();
  const reset = await phones.code(asker, 'reset');
  keep('code to reset', reset.code);
  const { body: resetToken } = await phones.verify(reset.captchaId, reset.code);
  await look();
  await phones.reset(
    asker,
    keep('action token to reset', resetToken.actionToken),
    keep('new password', 'n3w-pass-word'),
  );
  const phone = keep('second phone', newPhone());
  const { body: fresh } = await phones.login(asker, { account: 'secretive', password: 'n3w-pass-word' });
  const sent = await phones.world.call('POST', '/v1/auth/captchas', {
    token: fresh.accessToken,
    body: { scene: 'bind', phone: `+86 ${phone}` },
  });
  const { body: bound } = await phones.verify(
    String(sent.body.captchaId),
    keep('code to bind', phones.sms.codeFor(phone)),
  );
  const bind = { actionToken: keep('action token to bind', bound.actionToken), password: 'n3w-pass-word' };
  expect((await phones.world.call('POST', '/v1/auth/phone', { token: fresh.accessToken, body: bind })).status).toBe(
    204,
  );
  await look();

  // The scan sees what it should see: names that are not secret.
  expect(dumps.some((text) => text.startsWith('im_users: ') && text.includes('secretive'))).toBe(true);
  expect(dumps.some((text) => text.includes(':captcha:quota:'))).toBe(true);
  const found = [...secrets].flatMap(([what, value]) => {
    // The random part of a token is its secret; a code is six digits that stand alone.
    const bare = value.includes('.') && !value.startsWith('ey') ? value.split('.')[1] : value;
    const pattern = /^\d{6}$/.test(bare) ? new RegExp(`(?<![0-9A-Za-z.+/=_-])${bare}(?![0-9A-Za-z+/=_-])`) : null;
    return dumps
      .filter((text) => (pattern ? pattern.test(text) : text.includes(bare)))
      .map((text) => `${what}: ${text}`);
  });
  expect(found).toEqual([]);
  expect(dumps.filter((text) => text.includes(PASSWORD))).toEqual([]);
  expect(secrets.size).toBe(15);
}, 60_000);

it('no key of codes, tokens and limits is without an end', async () => {
  const keys = (await phones.keys()).filter((key) => /:(captcha|token|rate|login|session):/.test(key));
  expect(keys.length).toBeGreaterThan(5);
  expect((await phones.endless()).filter((key) => keys.includes(key))).toEqual([]);
});
