import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TenantService } from '../../src/modules/tenant/tenant.service.js';
import { queryOnce } from '../../src/platform/mysql/query-once.js';
import { databaseAt, givenServers } from '../support/environment.js';
import { PrivateServer } from '../support/fault-stage.js';
import { Stage, type RestAnswer } from '../support/stage.js';
import { until } from '../support/until.js';

/** Two statements of 1 s and the grace; the rest is for a loaded machine. */
const BOUND_MS = 8_000;
const SECRET = 'CONTROL_SPEC_TENANT_PASSWORD';

let folder: string;
/** Holds the control database and nothing else. */
let control: PrivateServer;
let stage: Stage;
let node: Awaited<ReturnType<Stage['inProcess']>>;
let token: string;

const admin = (method: string, path: string, body?: object): Promise<RestAnswer> =>
  stage.call(node, method, `/v1/admin/${path}`, { token: stage.environment.ADMIN_TOKEN, body });
const me = (): Promise<RestAnswer> => stage.call(node, 'GET', '/v1/im/users/me', { token });
const database = (): string => `${stage.name}_acme`;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tc-'));
  control = await PrivateServer.mysql(folder);
  const { mysql, redis } = givenServers();
  const settings = { MYSQL_STATEMENT_TIMEOUT_MS: '1000', CONFIG_REFRESH_SECONDS: '3600' };
  stage = await Stage.open(settings, { mysql: control.url, redis });
  node = await stage.inProcess();
  // The tenant's database is on another server, as in an installation of some size.
  const url = new URL(mysql);
  process.env[SECRET] = decodeURIComponent(url.password);
  const made = await admin('POST', 'tenants', {
    code: 'acme',
    name: 'Acme',
    dbName: database(),
    dbHost: url.hostname,
    dbPort: Number(url.port),
    dbUser: url.username,
    dbSecretRef: `env:${SECRET}`,
    settings: { registration: 'open' },
  });
  if (made.status !== 201) throw new Error(JSON.stringify(made.body));
  const ticket = await stage.call(node, 'POST', '/v1/auth/enterprise', { body: { code: 'acme' } });
  const { loginToken } = ticket.body;
  const body = { loginToken, account: 'alice', password: 'first-pass-1', nickname: 'alice' };
  token = String((await stage.call(node, 'POST', '/v1/auth/register', { body })).body.accessToken);
}, 180_000);
afterAll(async () => {
  control.signal('SIGCONT');
  await stage.close();
  await control.kill().catch(() => undefined);
  const server = { ...databaseAt(givenServers(), ''), database: '' };
  await queryOnce(server, 5_000, `DROP DATABASE IF EXISTS \`${database()}\``);
  rmSync(folder, { recursive: true, force: true });
});

async function timed<T>(work: () => Promise<T>): Promise<{ value: T; tookMs: number }> {
  const began = performance.now();
  const value = await work();
  return { value, tookMs: performance.now() - began };
}

it('a frozen control database holds up no reload and no operator for long, and no user at all', async () => {
  const tenants = node.application.nest.get(TenantService, { strict: false });
  expect(await tenants.reload()).toBe(true);
  control.signal('SIGSTOP');
  try {
    const reload = await timed(() => tenants.reload());
    expect(reload.value).toBe(false);
    expect(reload.tookMs).toBeLessThan(BOUND_MS);
    // Not the first time only: new connections are not answered either.
    const again = await timed(() => tenants.reload());
    expect(again.value).toBe(false);
    expect(again.tookMs).toBeLessThan(BOUND_MS);
    const calls: (() => Promise<RestAnswer>)[] = [
      () => admin('GET', 'audit'),
      () => admin('GET', 'third-party'),
      () => admin('PUT', 'config/basic/name', { type: 'string', value: 'x' }),
      () => admin('POST', 'reload'),
    ];
    for (const { value, tookMs } of await Promise.all(calls.map(timed))) {
      expect(value).toMatchObject({ status: 503, body: { code: 'STORAGE_UNAVAILABLE', retryable: true } });
      expect(tookMs).toBeLessThan(BOUND_MS * 2);
    }
    const ready = await timed(() => fetch(`${node.url}/health/ready`));
    expect(ready.value.status).toBe(503);
    expect(ready.tookMs).toBeLessThan(BOUND_MS);
    expect((await me()).status).toBe(200);
    expect((await stage.call(node, 'POST', '/v1/auth/enterprise', { body: { code: 'acme' } })).status).toBe(200);
  } finally {
    control.signal('SIGCONT');
  }
  await until('tenants are read again', () => tenants.reload(), 30_000);
  expect(await admin('PUT', 'config/basic/name', { type: 'string', value: 'y' })).toMatchObject({ status: 204 });
  await until('the node is ready', async () => (await fetch(`${node.url}/health/ready`)).status === 200, 30_000);
}, 180_000);
