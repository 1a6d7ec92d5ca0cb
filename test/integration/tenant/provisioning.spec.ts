import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { TenantProvisioning } from '../../../src/modules/tenant/tenant.provisioning.js';
import { loadToolEnv } from '../../../src/platform/env/env.js';
import { queryOnce } from '../../../src/platform/mysql/query-once.js';
import { schemas } from '../../../src/schema.js';
import { databaseAt, freshName, givenServers, nodeEnvironment } from '../../support/environment.js';

const name = freshName();
const servers = givenServers();
const environment = nodeEnvironment(name, servers);
let tenants: TenantProvisioning;

const server = { ...databaseAt(servers, ''), database: '' };
const sql = <T>(statement: string, values: unknown[] = []) => queryOnce<T>(server, 5_000, statement, values);
const create = (code: string, more: object = {}) =>
  tenants.create({ code, name: code, dbName: `${name}_${code}`, ...more });

async function tablesOf(database: string): Promise<string[]> {
  const rows = await sql<{ name: string }>(
    'SELECT table_name AS name FROM information_schema.tables WHERE table_schema = ?',
    [database],
  );
  return rows.map((row) => row.name);
}

beforeAll(async () => {
  tenants = await TenantProvisioning.open(loadToolEnv(environment), schemas);
}, 30_000);
afterAll(async () => {
  await tenants.close();
  const rows = await sql<{ name: string }>('SELECT schema_name AS name FROM information_schema.schemata');
  for (const row of rows.filter((one) => one.name.startsWith(name))) await sql(`DROP DATABASE \`${row.name}\``);
});

it('makes the control database once', async () => {
  expect(tenants.control.ran.length).toBeGreaterThan(0);
  const again = await TenantProvisioning.open(loadToolEnv(environment), schemas);
  expect(again.control.ran).toEqual([]);
  await again.close();
});

it('makes a tenant whose tables compare byte for byte, and refuses the same code again', async () => {
  const id = await create('acme');
  expect(await tenants.list()).toMatchObject([{ id, code: 'acme', status: 'active', dbHost: null }]);
  const collations = await sql<{ n: string }>(
    `SELECT DISTINCT table_collation AS n FROM information_schema.tables
     WHERE table_schema = ? AND table_name <> 'im_migrations'`,
    [`${name}_acme`],
  );
  expect(collations).toEqual([{ n: 'utf8mb4_bin' }]);
  await expect(create('acme')).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('exists') });
});

it('makes one tenant of a code that is created twice at the same time', async () => {
  const results = await Promise.allSettled([create('twins'), create('twins', { dbName: `${name}_twins2` })]);
  expect(results.map((result) => result.status).sort()).toEqual(['fulfilled', 'rejected']);
});

it('finishes what stopped before the record was written', async () => {
  await create('half');
  await sql(`DELETE FROM ${name}_control.im_tenants WHERE code = 'half'`);
  await sql(`DROP TABLE ${name}_half.im_users`);
  await sql(`DELETE FROM ${name}_half.im_migrations WHERE name LIKE 'CreateUsers%'`);
  await create('half');
  expect(await tablesOf(`${name}_half`)).toContain('im_users');
});

it('gives no database to two tenants, nor one that is in use for something else', async () => {
  const taken = { dbName: `${name}_ACME`, dbHost: 'LOCALHOST', dbPort: Number(new URL(servers.mysql).port || 3306) };
  const conflict = { code: 'CONFLICT' };
  await expect(create('thief', { dbName: `${name}_acme` })).rejects.toMatchObject(conflict);
  if (server.host === '127.0.0.1') await expect(create('thief', taken)).rejects.toMatchObject(conflict);
  await expect(create('thief', { dbName: `${name}_control` })).rejects.toMatchObject(conflict);
  await sql(`CREATE DATABASE ${name}_shop`);
  await sql(`CREATE TABLE ${name}_shop.orders (id INT)`);
  await expect(create('thief', { dbName: `${name}_shop` })).rejects.toMatchObject(conflict);
  expect(await tablesOf(`${name}_shop`)).toEqual(['orders']);
  expect((await tenants.list()).map((row) => row.code)).not.toContain('thief');
});

it.each([
  { code: '' },
  { code: 'a b' },
  { code: '-a' },
  { code: 'x'.repeat(64) },
  { name: ' ' },
  { dbName: 'a`b' },
  { dbName: '' },
  { dbPort: 0 },
  { dbPort: Number.NaN },
  { dbSecretRef: 'plain-password' },
  { dbSecretRef: 'env:SURELY_NOT_SET' },
])('refuses %j', async (wrong) => {
  await expect(create('fine', wrong)).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
});

describe('the command line', () => {
  const program = join(__dirname, '../../../dist/cli/tenant.js');
  const run = (args: string[], env: Record<string, string> = environment) =>
    new Promise<{ code: number; out: string; err: string }>((resolve) => {
      execFile(process.execPath, [program, ...args], { env }, (error, out, err) =>
        resolve({ code: Number(error?.code ?? 0), out, err }),
      );
    });

  it('migrates all tenants although one is broken, and says so', async () => {
    await create('away');
    await create('last');
    await sql(`UPDATE ${name}_control.im_tenants SET db_host = '127.0.0.1', db_port = 1 WHERE code = 'away'`);
    await sql(`DROP TABLE ${name}_last.im_friends`);
    await sql(`DELETE FROM ${name}_last.im_migrations WHERE name LIKE 'CreateFriends%'`);
    const { code, out, err } = await run(['migrate']);
    expect(code).toBe(1);
    expect(out).toContain(`tenant last (${name}_last): 1 migrations ran`);
    expect(err).toMatch(/tenant away .*does not answer at 127\.0\.0\.1:1\.\n1 of \d+ tenants could not be migrated\./);
    expect(await tablesOf(`${name}_last`)).toContain('im_friends');
  }, 30_000);

  it('disables, enables and lists', async () => {
    expect((await run(['disable', 'acme'])).out).toContain('acme is now disabled');
    expect((await run(['disable', 'acme'])).out).toContain('was disabled already');
    expect((await run(['list'])).out).toMatch(new RegExp(`acme +disabled +${name}_acme +acme`));
    expect((await run(['enable', 'acme'])).out).toContain('acme is now active');
  }, 30_000);

  it.each([
    [[], /^Usage:/],
    [['fly'], /^Usage:/],
    [['toString'], /^Usage:/],
    [['create', '--code', 'x'], /^create needs --code and --name/],
    [['create', '--colour', 'x'], /^Unknown option '--colour'/],
    [['enable', 'nowhere'], /^There is no tenant with the code nowhere\.\n$/],
    [['create', '--code', 'acme', '--name', 'A'], /^The tenant acme exists already \(id \d+, active\)\.\n$/],
  ])('answers %j in words, without a stack trace', async (args, text) => {
    const { code, err } = await run(args);
    expect(code).toBe(1);
    expect(err).toMatch(text);
    expect(err).not.toMatch(/^\s+at /m);
  });

  it('needs only the two servers, and says which setting is missing', async () => {
    const { MYSQL_URL, REDIS_URL } = environment;
    expect((await run(['list'], { MYSQL_URL, REDIS_URL })).code).toBe(0);
    const { code, err } = await run(['list'], { REDIS_URL });
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('MYSQL_URL: is missing') });
  });
});
