import { publishTenantChange } from '../../../src/modules/tenant/tenant.redis.js';
import { TenantService } from '../../../src/modules/tenant/tenant.service.js';
import { loadToolEnv } from '../../../src/platform/env/env.js';
import { asTenantId } from '../../../src/platform/ids/ids.js';
import { ControlDb } from '../../../src/platform/mysql/control-db.js';
import { TenantDataSources } from '../../../src/platform/mysql/tenant-data-sources.js';
import { Wire } from '../auth/wire.js';
import { until, World } from '../auth/world.js';

let world: World;
let silent: Wire;
const ids: Record<string, string> = {};

beforeAll(async () => {
  silent = await Wire.to('127.0.0.1', 1);
  world = await World.open(
    async (stage) => {
      for (const code of ['demo', 'broken', 'gone']) ids[code] = await stage.tenant(code, ['alice']);
    },
    // The regular reload must not help the tests along.
    { CONFIG_REFRESH_SECONDS: '3600', MYSQL_CONNECT_TIMEOUT_MS: '1000' },
  );
}, 30_000);
afterAll(async () => {
  await world.close();
  await silent.close();
});

const change = (code: string, column: string, value: unknown) =>
  world.sql('control', `UPDATE im_tenants SET ${column} = ? WHERE code = ?`, [value, code]);
const tell = () => publishTenantChange(loadToolEnv(world.stage.environment));
const me = (token: string) => world.call('GET', '/v1/im/users/me', { token });
const enterprise = (code: string) => world.call('POST', '/v1/auth/enterprise', { body: { code } });

it('a disabled tenant is refused on the message, everywhere, and comes back as it was', async () => {
  const pair = await world.login('gone', 'alice');
  const loginToken = await world.loginToken('gone');
  const told: string[] = [];
  world.get(TenantService).onDisabled((tenant) => told.push(tenant));
  await change('gone', 'status', 'disabled');
  expect(await tell()).toBe(true);
  await until('the node knows', async () => (await me(pair.accessToken)).body.code === 'TENANT_DISABLED');
  expect((await enterprise('gone')).body.code).toBe('TENANT_DISABLED');
  expect((await world.refresh(pair.refreshToken)).body.code).toBe('TENANT_DISABLED');
  const body = { loginToken, account: 'alice', password: 'demo-pass-1' };
  expect((await world.call('POST', '/v1/auth/login', { body })).body.code).toBe('TENANT_DISABLED');
  const sources = world.get(TenantDataSources);
  await expect(sources.run(asTenantId(ids.gone), async () => undefined)).rejects.toMatchObject({
    code: 'TENANT_DISABLED',
  });
  expect(told).toEqual([ids.gone]);
  await world.reload();
  expect(told).toEqual([ids.gone]);
  await change('gone', 'status', 'active');
  await tell();
  await until('the node knows', async () => (await me(pair.accessToken)).status === 200);
});

it('a new tenant is known on the message', async () => {
  expect((await enterprise('fresh')).body.code).toBe('TENANT_UNKNOWN');
  await world.stage.tenant('fresh', ['alice']);
  await tell();
  await until('the node knows', async () => (await enterprise('fresh')).status === 200);
  expect((await me((await world.login('fresh', 'alice')).accessToken)).status).toBe(200);
});

it('changes that were told while Redis was away are seen when it is back', async () => {
  world.redis.cut();
  await change('demo', 'name', 'Renamed');
  world.redis.mend();
  await until('the node knows', async () => (await enterprise('demo')).body.tenantName === 'Renamed');
});

describe.each([
  ['refuses connections', () => 1],
  ['accepts connections and says nothing', () => silent.port],
])('a tenant whose database %s', (_what, port) => {
  it('fails fast and alone', async () => {
    await change('broken', 'db_host', null);
    await change('broken', 'db_port', null);
    await world.reload();
    const [broken, whole] = [await world.login('broken', 'alice'), await world.login('demo', 'alice')];
    silent.hold();
    await change('broken', 'db_host', '127.0.0.1');
    await change('broken', 'db_port', port());
    await world.reload();
    const started = Date.now();
    const calls = Array.from({ length: 20 }, () => me(broken.accessToken));
    const others = await Promise.all(
      Array.from({ length: 20 }, async () => ({ ...(await me(whole.accessToken)), ms: Date.now() - started })),
    );
    expect(others.every((answer) => answer.status === 200)).toBe(true);
    const answers = await Promise.all(calls);
    expect(Date.now() - started).toBeLessThan(5_000);
    for (const answer of answers) {
      expect(answer).toMatchObject({ status: 503, body: { code: 'STORAGE_UNAVAILABLE', retryable: true } });
    }
    const again = Date.now();
    expect((await me(broken.accessToken)).status).toBe(503);
    expect(Date.now() - again).toBeLessThan(800);
    await change('broken', 'db_host', null);
    await change('broken', 'db_port', null);
    await world.reload();
    expect((await me(broken.accessToken)).status).toBe(200);
  }, 20_000);
});

it('the tenants stay known while the control database is away', async () => {
  const source = await world.get(ControlDb).source();
  const away = jest.spyOn(source, 'getRepository').mockImplementation(() => {
    throw new Error('away');
  });
  expect(await world.reload()).toBe(false);
  expect((await enterprise('demo')).status).toBe(200);
  away.mockRestore();
  expect(await world.reload()).toBe(true);
});

it('a reload that is asked for while one runs sees what was written before it was asked for', async () => {
  const tenants = world.get(TenantService);
  for (let round = 0; round < 20; round += 1) {
    void tenants.reload();
    await change('demo', 'name', `Round ${round}`);
    expect(await tenants.reload()).toBe(true);
    expect(tenants.byCode('demo').name).toBe(`Round ${round}`);
  }
});
