import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { PrivateServer } from '../support/fault-stage.js';
import { SmsServer } from '../support/sms-server.js';
import { Stage, type RestAnswer, type TestNode } from '../support/stage.js';
import type { TestClient } from '../support/client.js';
import { until } from '../support/until.js';

/** A step may take 1 s to be refused; the rest is for a loaded machine. */
const REFUSED_WITHIN_MS = 4_000;
/** The first call after a database fell silent waits for its time-outs. */
const STORAGE_WITHIN_MS = 8_000;
const PASSWORD = 'first-pass-1';

let folder: string;
let redis: PrivateServer;
let mysql: PrivateServer;
let sms: SmsServer;
let stage: Stage;
let node: TestNode;
let counter = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tf-'));
  [redis, mysql, sms] = await Promise.all([PrivateServer.redis(folder), PrivateServer.mysql(folder), SmsServer.open()]);
  const settings = {
    ...sms.settings,
    TRUSTED_PROXY_DEPTH: '1',
    MYSQL_STATEMENT_TIMEOUT_MS: '1000',
    // As in production: a bucket that is never empty would not be written.
    LIMIT_AUTH_PER_MINUTE: '120',
  };
  stage = await Stage.open(settings, { mysql: mysql.url, redis: redis.url });
  await stage.tenant('demo', ['alice'], { registration: 'open' });
  node = await stage.inProcess();
}, 120_000);
afterAll(async () => {
  await stage.close();
  await sms.close();
  for (const server of [redis, mysql]) await server.kill().catch(() => undefined);
  rmSync(folder, { recursive: true, force: true });
});

const newPhone = (): string => `139${String(10_000_000 + (counter += 1))}`;

function call(
  method: string,
  path: string,
  body?: object,
  token?: string,
): Promise<RestAnswer<Record<string, string>>> {
  counter += 1;
  const headers = { 'x-forwarded-for': `10.9.${(counter >> 8) & 255}.${counter & 255}` };
  return stage.call<Record<string, string>>(node, method, path, { body, token, headers });
}

const loginToken = async (): Promise<string> =>
  (await call('POST', '/v1/auth/enterprise', { code: 'demo' })).body.loginToken;

async function code(scene: string, phone: string, token?: string): Promise<{ captchaId: string; code: string }> {
  const body = scene === 'bind' ? { scene, phone } : { scene, phone, loginToken: await loginToken() };
  const answer = await call('POST', '/v1/auth/captchas', body, token);
  if (answer.status !== 200) throw new Error(`code: ${answer.status} ${JSON.stringify(answer.body)}`);
  return { captchaId: answer.body.captchaId, code: sms.codeFor(phone) };
}

const verify = (captcha: { captchaId: string; code: string }) =>
  call('POST', `/v1/auth/captchas/${captcha.captchaId}/verify`, { code: captcha.code });

const actionToken = async (scene: string, phone: string, token?: string): Promise<string> =>
  (await verify(await code(scene, phone, token))).body.actionToken;

interface Step {
  readonly name: string;
  readonly run: () => Promise<RestAnswer<Record<string, string>>>;
  /** What it answers when everything is there. */
  readonly status: number;
  /** Needs no database: enterprise codes are known to the process. */
  readonly withoutMysql?: boolean;
}

/** Every step that needs short state, each ready to be passed. */
async function everyStep(): Promise<Step[]> {
  const [owner, ownerPhone, strangerPhone, boundPhone] = [`owner-${counter}`, newPhone(), newPhone(), newPhone()];
  const token = await loginToken();
  const registered = await call('POST', '/v1/auth/register', {
    loginToken: token,
    account: owner,
    password: PASSWORD,
    nickname: owner,
    actionToken: await actionToken('register', ownerPhone),
  });
  const access = registered.body.accessToken;
  const binder = await call('POST', '/v1/auth/register', {
    loginToken: token,
    account: `binder-${counter}`,
    password: PASSWORD,
    nickname: owner,
  });
  const binding = binder.body.accessToken;
  const toVerify = await code('login', strangerPhone);
  const [byRegister, byLogin, byReset, byBind] = [
    await actionToken('register', strangerPhone),
    await actionToken('login', ownerPhone),
    await actionToken('reset', ownerPhone),
    await actionToken('bind', boundPhone, binding),
  ];
  const post = (path: string, body: object, bearer?: string) => () => call('POST', `/v1/auth/${path}`, body, bearer);
  const fresh = { password: PASSWORD, nickname: 'new', loginToken: token };
  return [
    { name: 'enterprise', run: post('enterprise', { code: 'demo' }), status: 200, withoutMysql: true },
    { name: 'code', run: post('captchas', { loginToken: token, scene: 'reset', phone: newPhone() }), status: 200 },
    { name: 'code to bind', run: post('captchas', { scene: 'bind', phone: newPhone() }, access), status: 200 },
    { name: 'verify', run: () => verify(toVerify), status: 200 },
    { name: 'register', run: post('register', { ...fresh, account: `plain-${counter}` }), status: 201 },
    {
      name: 'register by code',
      run: post('register', { ...fresh, account: `coded-${counter}`, actionToken: byRegister }),
      status: 201,
    },
    { name: 'login', run: post('login', { loginToken: token, account: owner, password: PASSWORD }), status: 200 },
    { name: 'login by code', run: post('login', { loginToken: token, actionToken: byLogin }), status: 200 },
    { name: 'bind', run: post('phone', { actionToken: byBind, password: PASSWORD }, binding), status: 204 },
    {
      name: 'reset',
      run: post('password/reset', { loginToken: token, actionToken: byReset, password: 'second-pass-2' }),
      status: 204,
    },
  ];
}

/** What the steps change, and what they must not have changed. */
async function truth(): Promise<unknown[]> {
  const tables = [
    'SELECT id, account, password_hash, phone_hash FROM im_users ORDER BY id',
    'SELECT hash, used_at FROM im_action_tokens ORDER BY hash',
    "SELECT id, status, attempts FROM im_captchas WHERE status <> 'failed' ORDER BY id",
    'SELECT id, revoked_at FROM im_sessions ORDER BY id',
  ];
  return Promise.all(tables.map((sql) => stage.sql('demo', sql)));
}

async function refusals(steps: readonly Step[]): Promise<{ name: string; answer: string; inTime: boolean }[]> {
  return Promise.all(
    steps.map(async ({ name, run }) => {
      const began = performance.now();
      const { status, body } = await run();
      return { name, answer: `${status} ${body.code}`, inTime: performance.now() - began < REFUSED_WITHIN_MS };
    }),
  );
}

const closed = (steps: readonly Step[]) =>
  steps.map(({ name }) => ({ name, answer: '503 SHORT_STATE_UNAVAILABLE', inTime: true }));

/** Everything can be passed afterwards, one after the other: nothing of it was used up. */
async function expectPassable(steps: readonly Step[]): Promise<void> {
  const answers: string[] = [];
  for (const { name, run } of steps) answers.push(`${name} ${(await run()).status}`);
  expect(answers).toEqual(steps.map(({ name, status }) => `${name} ${status}`));
}

const redisAnswers = () =>
  until(
    'Redis is used again',
    async () => (await call('POST', '/v1/auth/enterprise', { code: 'demo' })).status === 200,
    30_000,
  );

/** Somebody who is connected and only reads. */
async function reader(): Promise<{ client: TestClient; token: string }> {
  const user = await stage.login(node, 'demo', 'alice');
  return { client: await stage.connect(node, user), token: user.accessToken };
}

describe('without Redis no security step is passed, each is refused within a second', () => {
  const outages: [string, () => Promise<() => Promise<void>>][] = [
    [
      'killed',
      async () => {
        await redis.kill();
        return () => redis.start();
      },
    ],
    [
      'frozen',
      async () => {
        redis.signal('SIGSTOP');
        return async () => redis.signal('SIGCONT');
      },
    ],
    [
      'out of memory',
      async () => {
        const client = new Redis(redis.url);
        const [, before] = (await client.config('GET', 'maxmemory')) as string[];
        await client.config('SET', 'maxmemory', '1');
        return async () => {
          await client.config('SET', 'maxmemory', before);
          client.disconnect();
        };
      },
    ],
    [
      'answering errors',
      async () => {
        const admin = new Redis(redis.url);
        await admin.call('ACL', 'SETUSER', 'keeper', 'on', '>keeper-pass', '~*', '&*', '+@all');
        await admin.call('AUTH', 'keeper', 'keeper-pass');
        await admin.call('ACL', 'SETUSER', 'default', '-@all', '+ping', '+info', '+client');
        return async () => {
          await admin.call('ACL', 'SETUSER', 'default', '+@all');
          admin.disconnect();
        };
      },
    ],
  ];

  it.each(outages)(
    'Redis %s',
    async (how, breakIt) => {
      // A full server still reads and counts what it has: refused is what it would have to keep anew.
      const refused = how === 'out of memory' ? ['enterprise', 'code', 'code to bind', 'bind'] : null;
      const steps = (await everyStep()).filter(({ name }) => refused === null || refused.includes(name));
      const { client, token } = await reader();
      const before = await truth();
      const mend = await breakIt();
      try {
        expect(await refusals(steps)).toEqual(closed(steps));
        // What needs no short state goes on.
        expect((await call('GET', '/v1/im/users/me', undefined, token)).status).toBe(200);
        expect(client.socket.connected).toBe(true);
        expect(await refusals(steps)).toEqual(closed(steps));
      } finally {
        await mend();
      }
      await redisAnswers();
      expect(await truth()).toEqual(before);
      // A killed Redis has forgotten the login tokens, as it may: only what does not hang on them is left to be passed.
      const left =
        how === 'killed' ? steps.filter(({ name }) => ['verify', 'bind', 'enterprise'].includes(name)) : steps;
      await expectPassable(left);
    },
    120_000,
  );
});

describe('without MySQL no security step is passed', () => {
  it.each([
    ['killed', () => mysql.kill(), () => mysql.start()],
    ['frozen', async () => mysql.signal('SIGSTOP'), async () => mysql.signal('SIGCONT')],
  ])(
    'MySQL %s',
    async (_name, breakIt, mend) => {
      const steps = await everyStep();
      await breakIt();
      const needing = steps.filter((step) => !step.withoutMysql);
      try {
        const began = performance.now();
        const answers = await refusals(needing);
        expect(performance.now() - began).toBeLessThan(STORAGE_WITHIN_MS);
        expect(answers.map(({ name, answer }) => `${name} ${answer}`)).toEqual(
          needing.map(({ name }) => `${name} 503 STORAGE_UNAVAILABLE`),
        );
      } finally {
        await mend();
      }
      await until(
        'MySQL is used again',
        async () => (await stage.sql('demo', 'SELECT 1').catch(() => [])).length === 1,
        60_000,
      );
      await until(
        'the node uses it',
        async () =>
          (
            await call('POST', '/v1/auth/login', {
              loginToken: await loginToken(),
              account: 'alice',
              password: 'demo-pass-1',
            })
          ).status === 200,
        30_000,
      );
      await expectPassable(steps);
    },
    180_000,
  );
});
