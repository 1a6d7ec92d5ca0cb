import { parseArgs, type ParseArgsConfig } from 'node:util';
import { TenantProvisioning, type MigrationReport } from '../modules/tenant/tenant.provisioning.js';
import { publishTenantChange } from '../modules/tenant/tenant.redis.js';
import type { Operator } from '../platform/http/operator.js';
import { loadToolEnv, operatorName, type ToolEnv } from '../platform/env/env.js';
import { schemas } from '../schema.js';
import { explain, runCli, UsageError } from './run-cli.js';

const USAGE = `Usage:
  tenant create --code CODE --name NAME [--db-name NAME] [--db-host HOST] [--db-port PORT] [--db-user USER]
                [--db-secret-ref env:NAME] [--registration open|closed]
  tenant migrate            control database and all tenants' databases
  tenant list
  tenant disable CODE
  tenant enable CODE
  tenant set CODE SETTING=VALUE...   JSON or text; SETTING= takes it away, so that its default counts

TENANT_OPERATOR names who does it, for the audit log; default: the user of this shell.`;

type Command = (tenants: TenantProvisioning, args: string[], env: ToolEnv) => Promise<void>;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const COMMANDS: Record<string, Command> = {
  async create(tenants, args, env) {
    const { values } = parse(args, {
      code: { type: 'string' },
      name: { type: 'string' },
      'db-name': { type: 'string' },
      'db-host': { type: 'string' },
      'db-port': { type: 'string' },
      'db-user': { type: 'string' },
      'db-secret-ref': { type: 'string' },
      registration: { type: 'string' },
    });
    const { code, name, registration } = values;
    if (!code || !name) throw new UsageError(`create needs --code and --name.\n${USAGE}`);
    if (registration !== undefined && registration !== 'open' && registration !== 'closed') {
      throw new UsageError('--registration must be open or closed.');
    }
    const request = {
      code,
      name,
      dbName: values['db-name'],
      dbHost: values['db-host'],
      dbPort: values['db-port'] === undefined ? undefined : Number(values['db-port']),
      dbUser: values['db-user'],
      dbSecretRef: values['db-secret-ref'],
      settings: registration === undefined ? {} : { registration },
    };
    const id = await tenants.create(request, operator());
    say(`Tenant ${code} is ready (id ${id}).`);
    await tellNodes(env);
  },

  async migrate(tenants, args) {
    parse(args, {});
    report(tenants.control);
    const reports = await tenants.migrateAll();
    reports.forEach(report);
    const failed = reports.filter((one) => one.error !== undefined);
    if (failed.length > 0) throw new UsageError(`${failed.length} of ${reports.length} tenants could not be migrated.`);
  },

  async list(tenants, args) {
    parse(args, {});
    const rows = await tenants.list();
    const cells = [['ID', 'CODE', 'STATUS', 'DATABASE', 'NAME']];
    for (const row of rows) {
      const server = row.dbHost === null ? '' : ` on ${row.dbHost}:${row.dbPort ?? 3306}`;
      cells.push([row.id, row.code, row.status, row.dbName + server, row.name]);
    }
    const widths = cells[0].map((_, column) => Math.max(...cells.map((line) => line[column].length)));
    for (const line of cells)
      say(
        line
          .map((cell, column) => cell.padEnd(widths[column]))
          .join('  ')
          .trimEnd(),
      );
  },

  disable: (tenants, args, env) => setStatus(tenants, args, env, 'disabled'),
  enable: (tenants, args, env) => setStatus(tenants, args, env, 'active'),

  async set(tenants, args, env) {
    const [code, ...pairs] = parse(args, {}).positionals;
    if (code === undefined || pairs.length === 0) throw new UsageError(`Name a tenant and its settings.\n${USAGE}`);
    const changed = await tenants.change({ code }, { settings: settingsOf(pairs) }, operator());
    say(changed ? `Tenant ${code} was changed.` : `Tenant ${code} was like that already.`);
    await tellNodes(env);
  },
};

function settingsOf(pairs: readonly string[]): Record<string, unknown> {
  const entries = pairs.map((pair) => {
    const [, name, text] = /^([A-Za-z]\w*)=([\s\S]*)$/.exec(pair) ?? [];
    if (name === undefined) throw new UsageError(`${pair} is not SETTING=VALUE.\n${USAGE}`);
    return [name, text === '' ? null : jsonOrText(text)] as const;
  });
  return Object.fromEntries(entries);
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** Who is at the keyboard, as far as that can be told. */
function operator(): Operator {
  const name = operatorName() || 'unknown';
  return { name: name.slice(0, 64), source: 'cli' };
}

async function setStatus(
  tenants: TenantProvisioning,
  args: string[],
  env: ToolEnv,
  status: 'active' | 'disabled',
): Promise<void> {
  const [code, ...rest] = parse(args, {}).positionals;
  if (code === undefined || rest.length > 0) throw new UsageError(`Name one tenant by its code.\n${USAGE}`);
  const changed = await tenants.change({ code }, { status }, operator());
  say(changed ? `Tenant ${code} is now ${status}.` : `Tenant ${code} was ${status} already.`);
  await tellNodes(env);
}

async function tellNodes(env: ToolEnv): Promise<void> {
  if (await publishTenantChange(env)) return;
  say('Redis does not answer: running nodes will notice at their next regular reload (CONFIG_REFRESH_SECONDS).');
}

function report({ database, code, ran, error }: MigrationReport): void {
  const what = code === null ? `control database ${database}` : `tenant ${code} (${database})`;
  if (error !== undefined) process.stderr.write(`${what}: ${explain(error)}\n`);
  else say(`${what}: ${ran.length === 0 ? 'up to date' : `${ran.length} migrations ran`}`);
}

function parse<O extends NonNullable<ParseArgsConfig['options']>>(args: string[], options: O) {
  try {
    return parseArgs({ args, options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n${USAGE}`);
  }
}

async function main(): Promise<void> {
  const [name, ...args] = process.argv.slice(2);
  const command = Object.hasOwn(COMMANDS, name ?? '') ? COMMANDS[name] : undefined;
  if (!command) throw new UsageError(USAGE);
  const env = loadToolEnv();
  const tenants = await TenantProvisioning.open(env, schemas);
  try {
    await command(tenants, args, env);
  } finally {
    await tenants.close();
  }
}

runCli(main);
