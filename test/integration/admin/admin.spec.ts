import { ConfigService } from '../../../src/modules/config/config.service.js';
import { TenantService } from '../../../src/modules/tenant/tenant.service.js';
import { asTenantId } from '../../../src/platform/ids/ids.js';
import { ControlDb } from '../../../src/platform/mysql/control-db.js';
import { TenantDataSources } from '../../../src/platform/mysql/tenant-data-sources.js';
import type { RestAnswer } from '../../support/stage.js';
import { until, World } from '../auth/world.js';
import { metricsOf } from '../house/metrics.js';

const ADMIN = 'a'.repeat(40);
const SECRET = 'hunter2-hunter2';
let world: World;
let second: Awaited<ReturnType<World['stage']['inProcess']>>;
const ids: Record<string, string> = {};

beforeAll(async () => {
  // The regular reload must not help the tests along.
  world = await World.open(
    async (stage) => {
      for (const code of ['demo', 'rival']) ids[code] = await stage.tenant(code, ['alice', 'bob']);
    },
    { CONFIG_REFRESH_SECONDS: '3600' },
  );
  second = await world.stage.inProcess();
}, 60_000);
afterAll(() => world.close());

type Body = Record<string, unknown>;
const admin = <T = Body>(method: string, path: string, body?: object): Promise<RestAnswer<T>> =>
  world.call<T>(method, `/v1/admin${path}`, { token: ADMIN, body, headers: { 'x-operator': 'olga' } });
const me = (token: string, node = world.node) => world.stage.call(node, 'GET', '/v1/im/users/me', { token });
const onSecond = <T>(service: abstract new (...args: never[]) => T): T =>
  second.application.nest.get(service, { strict: false });
const audit = async (): Promise<Body[]> => (await admin<{ items: Body[] }>('GET', '/audit?limit=200')).body.items;

describe('the door', () => {
  it.each([
    ['no token', undefined],
    ['a wrong token', 'b'.repeat(40)],
    ['a token that begins right', 'a'.repeat(39)],
    ['a token that is longer', 'a'.repeat(41)],
  ])('stays closed with %s', async (_what, token) => {
    for (const [method, path] of [
      ['GET', '/tenants'],
      ['POST', '/tenants'],
      ['POST', `/tenants/${ids.demo}/disable`],
      ['GET', '/audit'],
      ['PUT', '/config/a/b'],
    ]) {
      const answer = await world.call(method, `/v1/admin${path}`, { token, body: method === 'GET' ? undefined : {} });
      expect(answer).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
    }
  });

  it("stays closed with a user's token, and the admin token opens nothing of a user", async () => {
    const { accessToken } = await world.login('demo', 'alice');
    expect((await world.call('GET', '/v1/admin/tenants', { token: accessToken })).status).toBe(401);
    expect((await me(ADMIN)).status).toBe(401);
  });

  it('lets nobody guess for long, and the operator in all the same', async () => {
    const answers = await Promise.all(
      Array.from({ length: 120 }, (_, index) => world.call('GET', '/v1/admin/tenants', { token: `guess-${index}` })),
    );
    expect(answers.filter((answer) => answer.status === 429).length).toBeGreaterThanOrEqual(40);
    expect((await admin('GET', '/tenants')).status).toBe(200);
  });
});

describe('a tenant', () => {
  it('is made, known on every node at once, and usable', async () => {
    const dbName = `${world.stage.name}_fresh`;
    const made = await admin('POST', '/tenants', {
      code: 'fresh',
      name: 'Fresh',
      dbName,
      settings: { registration: 'open' },
    });
    try {
      expect(made).toMatchObject({ status: 201, body: { code: 'fresh', status: 'active' } });
      expect(JSON.stringify(made.body)).not.toMatch(/password/i);
      await until('the other node knows', () => {
        try {
          return onSecond(TenantService).byCode('fresh');
        } catch {
          return null;
        }
      });
      expect((await admin('POST', '/tenants', { code: 'fresh', name: 'Again', dbName })).body.code).toBe('CONFLICT');
      expect((await admin('POST', '/tenants', { code: '-', name: 'x' })).status).toBe(400);
    } finally {
      const { manager } = await world.get(ControlDb).source();
      await manager.query(`DROP DATABASE IF EXISTS \`${dbName}\``);
    }
  }, 60_000);

  it('that is disabled closes its sockets and refuses its calls on every node, drains its pool, and comes back', async () => {
    const alice = await world.login('demo', 'alice');
    const bob = await world.login('demo', 'bob');
    const rival = await world.login('rival', 'alice');
    const [first, other, stranger] = [
      await world.stage.connect(world.node, alice),
      await world.stage.connect(second, bob),
      await world.stage.connect(second, rival),
    ];
    const started = Date.now();
    expect((await admin('POST', `/tenants/${ids.demo}/disable`, {})).status).toBe(204);
    for (const client of [first, other]) {
      await until('its sockets are closed', () => !client.socket.connected);
      expect(client.events('session:closing')).toEqual([{ reason: 'tenant_disabled', reconnectAfterMs: 0 }]);
    }
    expect(Date.now() - started).toBeLessThan(5_000);
    for (const node of [world.node, second]) {
      expect((await me(alice.accessToken, node)).body.code).toBe('TENANT_DISABLED');
      await expect(world.stage.connect(node, alice)).rejects.toMatchObject({ data: { code: 'TENANT_DISABLED' } });
    }
    expect((await world.refresh(alice.refreshToken)).body.code).toBe('TENANT_DISABLED');
    await expect(onSecond(TenantDataSources).run(asTenantId(ids.demo), async () => undefined)).rejects.toMatchObject({
      code: 'TENANT_DISABLED',
    });
    expect(await metricsOf(second)).toMatch(/^im_tenant_databases_open 1$/m);
    // Nobody else notices.
    expect(stranger.socket.connected).toBe(true);
    expect((await me(rival.accessToken, second)).status).toBe(200);
    // Twice is once.
    const before = (await audit()).length;
    expect((await admin('POST', `/tenants/${ids.demo}/disable`, {})).status).toBe(204);
    expect((await audit()).length).toBe(before);
    expect((await admin('POST', `/tenants/${ids.demo}/enable`, {})).status).toBe(204);
    await until('every node lets it in', async () => (await me(alice.accessToken, second)).status === 200);
    expect((await me(alice.accessToken)).status).toBe(200);
  }, 60_000);

  it('has settings that count at once, are checked, and fall back to their defaults', async () => {
    const path = `/tenants/${ids.rival}`;
    const changed = await admin('PATCH', path, { name: 'Rival 2', settings: { editWindowSeconds: 5, house: 'own' } });
    expect(changed).toMatchObject({
      status: 200,
      body: { name: 'Rival 2', settings: { editWindowSeconds: 5, house: 'own' } },
    });
    const { getTenantConfig } = {
      getTenantConfig: () => onSecond(ConfigService).getTenantConfig(asTenantId(ids.rival)),
    };
    await until('the other node knows', () => getTenantConfig().editWindowSeconds === 5);
    const refused = await admin('PATCH', path, { settings: { editWindowSeconds: 'long' } });
    expect(refused).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
    expect(refused.body.details).toMatchObject([{ field: 'settings.editWindowSeconds' }]);
    expect((await admin('PATCH', path, { settings: { editWindowSeconds: null } })).body.settings).toMatchObject({
      editWindowSeconds: 86_400,
    });
    expect((await admin('PATCH', '/tenants/999999', { name: 'x' })).body.code).toBe('TENANT_UNKNOWN');
    expect((await admin('PATCH', path, { settings: JSON.parse('{"__proto__":{"a":1}}') as object })).status).toBe(400);
  });
});

describe('configuration', () => {
  it('counts on every node at once: values, dictionaries, and their end', async () => {
    expect((await admin('PUT', '/config/upload/maxSize', { type: 'int', value: '5' })).status).toBe(204);
    const items = [
      { label: 'Spam', value: '1', valueType: 'int' },
      { label: 'Hate', value: '2', valueType: 'int', isDefault: true },
    ];
    expect((await admin('PUT', '/dicts/report_reason', { name: 'Reasons', items })).status).toBe(204);
    expect(world.get(ConfigService).getConfig('upload', 'maxSize')).toBe(5);
    const config = onSecond(ConfigService);
    await until('the other node knows', () => config.getDict('report_reason').length === 2);
    expect(config.getConfig('upload', 'maxSize')).toBe(5);
    expect(config.getDict('report_reason')).toMatchObject([
      { label: 'Spam', value: 1, isDefault: false },
      { label: 'Hate', value: 2, isDefault: true },
    ]);
    expect((await admin('PUT', '/config/upload/maxSize', { type: 'int', value: 'five' })).status).toBe(400);
    expect((await admin('DELETE', '/config/upload/maxSize')).status).toBe(204);
    expect((await admin('DELETE', '/config/upload/maxSize')).status).toBe(404);
    expect((await admin('DELETE', '/dicts/report_reason')).status).toBe(204);
    expect(world.get(ConfigService).getDict('report_reason')).toEqual([]);
    expect(world.get(ConfigService).getConfig('upload', 'maxSize')).toBeNull();
  });

  it('written by HotGo itself is read, a row that does not parse keeps its old value and is reported', async () => {
    const { manager } = await world.get(ControlDb).source();
    const write = (value: string) =>
      manager.query(
        "INSERT INTO hg_sys_config (`group`, `key`, type, value) VALUES ('basic', 'limit', 'int', ?) ON DUPLICATE KEY UPDATE value = VALUES(value)",
        [value],
      );
    await write('10');
    await world.reload();
    expect(world.get(ConfigService).getConfig('basic', 'limit')).toBe(10);
    await write('ten');
    await manager.query(
      "INSERT INTO hg_sys_config (`group`, `key`, type, value) VALUES ('basic', 'name', 'string', 'Good')",
    );
    expect(await world.reload()).toBe(true);
    expect(world.get(ConfigService).getConfig('basic', 'limit')).toBe(10);
    expect(world.get(ConfigService).getConfig('basic', 'name')).toBe('Good');
    expect(await metricsOf(world.node)).toMatch(/^im_config_bad_rows 1$/m);
    await manager.query("DELETE FROM hg_sys_config WHERE `group` = 'basic'");
    await world.reload();
    expect(await metricsOf(world.node)).toMatch(/^im_config_bad_rows 0$/m);
  });

  it('that cannot be read stays as it was, as a whole', async () => {
    await admin('PUT', '/config/keep/me', { type: 'string', value: 'here' });
    const { manager } = await world.get(ControlDb).source();
    await manager.query('RENAME TABLE hg_sys_dict_data TO hg_sys_dict_data_away');
    try {
      await manager.query("UPDATE hg_sys_config SET value = 'changed' WHERE `group` = 'keep'");
      expect(await world.reload()).toBe(false);
      expect(world.get(ConfigService).getConfig('keep', 'me')).toBe('here');
      const metrics = await metricsOf(world.node);
      expect(metrics).toMatch(/^im_config_refresh_total\{result="failed"\} [1-9]/m);
      expect(Number(/^im_config_age_seconds ([\d.]+)/m.exec(metrics)![1])).toBeGreaterThan(0);
    } finally {
      await manager.query('RENAME TABLE hg_sys_dict_data_away TO hg_sys_dict_data');
    }
    expect(await world.reload()).toBe(true);
    expect(world.get(ConfigService).getConfig('keep', 'me')).toBe('changed');
  });
});

describe('outside services', () => {
  it("are the tenant's own, else the platform's; secrets are sealed, and shown to nobody", async () => {
    const put = (tenant: string, sign: string, secrets?: object) =>
      admin('PUT', `/third-party/${tenant}/sms`, { settings: { sign, apiKey: SECRET }, secrets });
    expect((await put('0', 'All', { accessKeySecret: SECRET })).status).toBe(204);
    expect((await put(ids.demo, 'Demo', { accessKeySecret: `${SECRET}-demo` })).status).toBe(204);
    const config = onSecond(ConfigService);
    await until(
      'the other node knows',
      () => config.getThirdParty(asTenantId(ids.demo), 'sms')?.settings.sign === 'Demo',
    );
    expect(config.getThirdParty(asTenantId(ids.demo), 'sms')!.secrets).toEqual({ accessKeySecret: `${SECRET}-demo` });
    expect(config.getThirdParty(asTenantId(ids.rival), 'sms')!.secrets).toEqual({ accessKeySecret: SECRET });
    expect(config.getThirdParty(asTenantId(ids.rival), 'oss')).toBeNull();
    // Without new secrets the old ones stay.
    await put(ids.demo, 'Demo 2');
    expect(world.get(ConfigService).getThirdParty(asTenantId(ids.demo), 'sms')).toMatchObject({
      settings: { sign: 'Demo 2' },
      secrets: { accessKeySecret: `${SECRET}-demo` },
    });
    const shown = JSON.stringify([
      (await admin('GET', '/third-party')).body,
      await audit(),
      await metricsOf(world.node),
    ]);
    expect(shown).toContain('accessKeySecret');
    expect(shown).not.toContain(SECRET);
    const { manager } = await world.get(ControlDb).source();
    const rows = JSON.stringify(await manager.query('SELECT secrets FROM im_third_party_configs'));
    expect(rows).not.toContain(SECRET);
    // Moved to the other tenant's row by whoever can write the database, it does not open.
    await manager.query(
      `INSERT INTO im_third_party_configs (tenant_id, kind, settings, secrets)
       SELECT ?, kind, settings, secrets FROM im_third_party_configs WHERE tenant_id = ?`,
      [ids.rival, ids.demo],
    );
    await world.reload();
    expect(JSON.stringify(world.get(ConfigService).getThirdParty(asTenantId(ids.rival), 'sms'))).not.toContain('-demo');
    await manager.query('DELETE FROM im_third_party_configs WHERE tenant_id = ?', [ids.rival]);
  });

  it('take no secret that is no text, no kind and no tenant that does not exist, and say nothing of what was sent', async () => {
    const body = { settings: {}, secrets: { key: [SECRET] } };
    for (const [path, given] of [
      [`/third-party/${ids.demo}/sms`, body],
      [`/third-party/${ids.demo}/pigeon`, { settings: {} }],
      ['/third-party/999999/sms', { settings: {} }],
    ] as const) {
      const answer = await admin('PUT', path, given);
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.status).toBeLessThan(500);
      expect(JSON.stringify(answer.body)).not.toContain(SECRET);
    }
  });
});

describe('the audit log', () => {
  it('has every change, who made it, and pages', async () => {
    await admin('PUT', '/config/mail/smtpPassword', { type: 'string', value: SECRET });
    const [newest, next] = await audit();
    expect(newest).toMatchObject({ operator: 'olga', action: 'config.set', target: 'config/mail/smtpPassword' });
    expect(JSON.stringify(newest)).not.toContain(SECRET);
    expect(JSON.stringify((await admin('GET', '/config')).body)).not.toContain(SECRET);
    const page = await admin<{ items: Body[] }>('GET', `/audit?limit=1&beforeId=${String(newest.id)}`);
    expect(page.body.items).toEqual([next]);
    const actions = new Set((await audit()).map((row) => row.action));
    for (const action of [
      'tenant.create',
      'tenant.disable',
      'tenant.enable',
      'tenant.change',
      'dict.set',
      'dict.remove',
      'third_party.set',
    ]) {
      expect([...actions]).toContain(action);
    }
  });

  it('that cannot be written lets no change pass', async () => {
    const { manager } = await world.get(ControlDb).source();
    await manager.query('RENAME TABLE im_admin_audit_logs TO im_admin_audit_logs_away');
    try {
      expect((await admin('PUT', '/config/no/audit', { type: 'string', value: 'x' })).status).toBeGreaterThanOrEqual(
        500,
      );
      expect((await admin('POST', `/tenants/${ids.rival}/disable`, {})).status).toBeGreaterThanOrEqual(500);
    } finally {
      await manager.query('RENAME TABLE im_admin_audit_logs_away TO im_admin_audit_logs');
    }
    await world.reload();
    expect(world.get(ConfigService).getConfig('no', 'audit')).toBeNull();
    expect(world.get(TenantService).byCode('rival').status).toBe('active');
  });
});

it('the nodes are told', async () => {
  const { body } = await admin<{ items: { nodeId: string; living: boolean }[]; nodeId: string }>('GET', '/nodes');
  const living = body.items.filter((node) => node.living);
  expect(living.map(({ nodeId }) => nodeId)).toContain(body.nodeId);
  expect(living.length).toBeGreaterThanOrEqual(2);
});

it('a change while Redis is away counts here at once, and on the others when it is back', async () => {
  world.redis.cut();
  try {
    expect((await admin('PUT', '/config/redis/away', { type: 'string', value: 'yes' })).status).toBe(204);
    expect(world.get(ConfigService).getConfig('redis', 'away')).toBe('yes');
  } finally {
    world.redis.mend();
  }
  await until('the other node knows', () => onSecond(ConfigService).getConfig('redis', 'away') === 'yes');
});
