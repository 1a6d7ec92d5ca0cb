import { Redis } from 'ioredis';
import { givenServers } from '../../support/environment.js';
import { Stage, type TestNode, type TestUser } from '../../support/stage.js';
import { until } from '../../support/until.js';
import { metricsOf } from '../house/metrics.js';

const BURST = 40;
/** A user of Redis whose rights can be taken away: the server is well and answers every command with an error. */
const RIGHTS = ['~*', '&*', '+@all'];
const name = `limits-${process.pid}-${Date.now()}`;
let admin: Redis;
let stage: Stage;
let node: TestNode;
let alice: TestUser;

beforeAll(async () => {
  const url = new URL(givenServers().redis);
  admin = new Redis(url.href);
  await admin.call('ACL', 'SETUSER', name, 'on', '>secret', ...RIGHTS);
  url.username = name;
  url.password = 'secret';
  stage = await Stage.open({
    REDIS_URL: url.href,
    LIMIT_READ_PER_SECOND: '1',
    LIMIT_READ_BURST: String(BURST),
    LIMIT_UNAUTHENTICATED_PER_MINUTE: String(BURST),
  });
  await stage.tenant('demo', ['alice']);
  node = await stage.inProcess();
  await until('the node is ready', async () => (await fetch(`${node.url}/health/ready`)).status === 200);
  alice = await stage.login(node, 'demo', 'alice');
}, 60_000);
afterAll(async () => {
  await stage.close();
  await admin.call('ACL', 'DELUSER', name);
  admin.disconnect();
});

const me = (token?: string) => stage.call(node, 'GET', '/v1/im/users/me', { token });
const loginToken = async (): Promise<string> =>
  String((await stage.call(node, 'POST', '/v1/auth/enterprise', { body: { code: 'demo' } })).body.loginToken);

it('while Redis answers errors each node counts by itself: nobody is stopped, nobody is free, no check is passed', async () => {
  const login = { loginToken: await loginToken(), account: 'alice', password: 'demo-pass-1' };
  await admin.call('ACL', 'SETUSER', name, '-@all', '+ping', '+info', '+client');
  try {
    const mine = await Promise.all(Array.from({ length: 120 }, () => me(alice.accessToken)));
    const letIn = mine.filter(({ status }) => status === 200).length;
    expect(letIn).toBeGreaterThanOrEqual(BURST);
    // (What the node still had in hand of the shared budget, and what time brought.)
    expect(mine.filter(({ status }) => status === 429).length).toBe(120 - letIn);
    expect(letIn).toBeLessThanOrEqual(BURST + 15);
    const strangers = await Promise.all(Array.from({ length: 120 }, () => me()));
    expect(strangers.filter(({ status }) => status === 429).length).toBeGreaterThanOrEqual(120 - BURST - 15);
    const metrics = await metricsOf(node);
    expect(metrics).toMatch(/^im_limit_local_total\{limit="read"\} [1-9]/m);
    expect(metrics).toMatch(/^im_limit_local_total\{limit="unauthenticated"\} [1-9]/m);
    for (const [path, body] of [
      ['enterprise', { code: 'demo' }],
      ['login', login],
    ] as const) {
      const answer = await stage.call(node, 'POST', `/v1/auth/${path}`, { body });
      expect(answer).toMatchObject({ status: 503, body: { code: 'SHORT_STATE_UNAVAILABLE', retryable: true } });
    }
  } finally {
    await admin.call('ACL', 'SETUSER', name, ...RIGHTS);
  }
  await until('log-ins go on', async () => {
    const answer = await stage.call(node, 'POST', '/v1/auth/login', { body: login });
    return answer.status === 200;
  });
}, 60_000);
