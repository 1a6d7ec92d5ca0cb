import { loadEnv, loadToolEnv, resolveSecret } from '../../../src/platform/env/env.js';

const SECRET = 'x'.repeat(32);
const GOOD = {
  MYSQL_URL: 'mysql://root:pw@127.0.0.1:3306/im_control',
  REDIS_URL: 'redis://127.0.0.1:6379/0',
  JWT_SECRET: SECRET,
  SECRETS_KEY: SECRET,
  PHONE_HASH_KEY: SECRET,
  ADMIN_TOKEN: SECRET,
};

describe('the settings', () => {
  it('have defaults for all but the servers and the secrets', () => {
    expect(loadEnv(GOOD)).toMatchObject({
      PORT: 3000,
      REDIS_KEY_PREFIX: 'im',
      REDIS_READ_TIMEOUT_MS: 800,
      MSG_PENDING_TTL_SECONDS: 120,
      MSG_DONE_TTL_SECONDS: 86_400,
      MSG_FAILED_TTL_SECONDS: 600,
      GROUP_FANOUT_ENABLED: true,
      TRUSTED_PROXY_DEPTH: 0,
      METRICS_TENANTS: [],
    });
    expect(loadToolEnv({ MYSQL_URL: GOOD.MYSQL_URL, REDIS_URL: GOOD.REDIS_URL })).toMatchObject({ LOG_LEVEL: 'info' });
  });

  it('take an empty value for none', () => {
    expect(loadEnv({ ...GOOD, PORT: '' }).PORT).toBe(3000);
    expect(() => loadEnv({ ...GOOD, JWT_SECRET: '' })).toThrow('JWT_SECRET: is missing');
  });

  it.each([
    ['PORT', '0'],
    ['PORT', '70000'],
    ['PORT', 'abc'],
    ['MYSQL_URL', 'postgres://x/y'],
    ['MYSQL_URL', 'not a url'],
    ['REDIS_URL', 'http://x'],
    ['REDIS_KEY_PREFIX', 'Im'],
    ['REDIS_KEY_PREFIX', 'a:b'],
    ['MSG_PENDING_TTL_SECONDS', '-1'],
    ['MSG_PENDING_TTL_SECONDS', '1.5'],
    ['MSG_DONE_TTL_SECONDS', '99999999'],
    ['GROUP_FANOUT_ENABLED', 'yes'],
    ['TRUSTED_PROXY_DEPTH', '-1'],
    ['JWT_SECRET', 'short-and-secret'],
    ['LOG_LEVEL', 'loud'],
  ])('refuse %s=%s and say its name, never its value', (name, value) => {
    const load = (): unknown => loadEnv({ ...GOOD, [name]: value });
    expect(load).toThrow(`${name}: `);
    if (name === 'JWT_SECRET') expect(load).not.toThrow(value);
  });

  it('list every mistake at once', () => {
    expect(() => loadEnv({})).toThrow(/MYSQL_URL: is missing[\s\S]*REDIS_URL: is missing[\s\S]*JWT_SECRET: is missing/);
  });

  it('read switches and lists', () => {
    expect(loadEnv({ ...GOOD, GROUP_FANOUT_ENABLED: '0' }).GROUP_FANOUT_ENABLED).toBe(false);
    expect(loadEnv({ ...GOOD, METRICS_TENANTS: '1,7,' }).METRICS_TENANTS).toEqual(['1', '7']);
  });

  it('find a secret by its reference, and nothing else', () => {
    expect(resolveSecret('env:DB_PW', { DB_PW: 'x' })).toBe('x');
    for (const bad of ['DB_PW', 'env:', 'env:NOT_THERE', 'file:/etc/passwd', 'env:A B']) {
      expect(resolveSecret(bad, { DB_PW: 'x' })).toBeUndefined();
    }
  });
});
