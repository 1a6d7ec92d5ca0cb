import type { DataSource, EntityManager } from 'typeorm';
import { resolveSecret, type ToolEnv } from '../../platform/env/env.js';
import { AppError, invalid } from '../../platform/errors/app-error.js';
import { parseMysqlUrl, type ConnectionInfo } from '../../platform/mysql/connection-info.js';
import { migrateDatabase } from '../../platform/mysql/migrate.js';
import { openDataSource, probeFlavor } from '../../platform/mysql/open-data-source.js';
import { queryOnce } from '../../platform/mysql/query-once.js';
import type { Schemas } from '../../platform/platform.module.js';
import type { Operator } from '../../platform/http/operator.js';
import { AdminAudit } from '../audit/audit.service.js';
import { tenantConnection } from './tenant-snapshot.js';
import { TenantEntity } from './tenant.entity.js';
import { TENANT_CODE, tenantSettingsSchema, type NewTenant, type TenantChange } from './tenant.types.js';

export interface MigrationReport {
  readonly database: string;
  /** Null for the control database. */
  readonly code: string | null;
  /** Names of the migrations that ran now. */
  readonly ran: readonly string[];
  readonly error?: unknown;
}

/** Who makes tenants when nobody is named: the launcher's demo world. */
const SETUP: Operator = { name: 'system', source: 'setup' };

const CREATE_LOCK_WAIT_SECONDS = 60;

/** What operators do with tenants, beside the running nodes: used by the command line. Holds one connection pool: `close()` it. */
export class TenantProvisioning {
  private readonly audit = new AdminAudit();

  private constructor(
    private readonly source: DataSource,
    private readonly controlInfo: ConnectionInfo,
    private readonly env: ToolEnv,
    private readonly schemas: Schemas,
    /** What opening did to the control database. */
    readonly control: MigrationReport,
  ) {}

  /** Makes the control database when it is missing and brings its tables up to date. */
  static async open(env: ToolEnv, schemas: Schemas): Promise<TenantProvisioning> {
    const info = parseMysqlUrl(env.MYSQL_URL);
    const ran = await migrateDatabase(info, schemas.control);
    const flavor = await probeFlavor(info, env.MYSQL_CONNECT_TIMEOUT_MS);
    const source = await openDataSource(flavor, info, schemas.control, {
      connections: 2,
      connectTimeoutMs: env.MYSQL_CONNECT_TIMEOUT_MS,
      statementTimeoutMs: env.MYSQL_STATEMENT_TIMEOUT_MS,
    });
    return new TenantProvisioning(source, info, env, schemas, { database: info.database, code: null, ran });
  }

  /** Over a node's own control database, which is up to date and stays open: no `close()`. */
  static over(source: DataSource, env: ToolEnv, schemas: Schemas): TenantProvisioning {
    const info = parseMysqlUrl(env.MYSQL_URL);
    return new TenantProvisioning(source, info, env, schemas, { database: info.database, code: null, ran: [] });
  }

  close(): Promise<void> {
    return this.source.destroy();
  }

  list(manager: EntityManager = this.source.manager): Promise<TenantEntity[]> {
    return manager.find(TenantEntity, { order: { id: 'ASC' } });
  }

  /** Brings every tenant's database up to date, the disabled ones' too; one that fails does not stop the others. */
  async migrateAll(): Promise<MigrationReport[]> {
    const reports: MigrationReport[] = [];
    for (const row of await this.list()) {
      const at = { database: row.dbName, code: row.code };
      try {
        reports.push({ ...at, ran: await migrateDatabase(this.connectionOf(row), this.schemas.tenant) });
      } catch (error) {
        reports.push({ ...at, ran: [], error });
      }
    }
    return reports;
  }

  /**
   * Makes the tenant's database and its tables, and only then the record that lets users in: what stopped half way is
   * finished by the same call again.
   * @returns the tenant's id
   * @throws AppError VALIDATION_FAILED, CONFLICT
   */
  async create(request: NewTenant, by: Operator = SETUP): Promise<string> {
    const row = rowOf(request);
    return this.alone(async (manager) => {
      const connection = this.connectionOf(row);
      refuseTaken(row, connection, await this.list(manager), this.controlInfo);
      await this.refuseForeignTables(connection);
      await migrateDatabase(connection, this.schemas.tenant);
      return manager.transaction(async (tx) => {
        const result = await tx.insert(TenantEntity, row);
        const id = String(result.identifiers[0].id);
        const { code, name, dbName, dbHost, settings } = row;
        const detail = { code, name, dbName, dbHost, settings: JSON.parse(settings) as object };
        await this.audit.record(tx, by, { action: 'tenant.create', target: `tenant/${id}`, detail });
        return id;
      });
    });
  }

  /**
   * Changes a tenant's record; what is not given stays.
   * @param which its code or its id
   * @returns false when nothing was different
   * @throws AppError TENANT_UNKNOWN, VALIDATION_FAILED
   */
  async change(which: { code: string } | { id: string }, change: TenantChange, by: Operator): Promise<boolean> {
    return this.source.transaction(async (tx) => {
      const row = await tx.findOne(TenantEntity, { where: which, lock: { mode: 'pessimistic_write' } });
      if (!row) {
        const asked = 'code' in which ? `with the code ${which.code}` : which.id;
        throw new AppError('TENANT_UNKNOWN', { message: `There is no tenant ${asked}.` });
      }
      const settings = change.settings === undefined ? row.settings : mergedSettings(row.settings, change.settings);
      const { name = row.name, status = row.status } = change;
      if (name.trim() === '' || [...name].length > 128) throw invalid('name', 'must have 1 to 128 characters');
      if (name === row.name && status === row.status && settings === row.settings) return false;
      await tx.update(TenantEntity, { id: row.id }, { name, status, settings });
      const action =
        change.status === undefined ? 'tenant.change' : `tenant.${status === 'active' ? 'enable' : 'disable'}`;
      await this.audit.record(tx, by, { action, target: `tenant/${row.id}`, detail: { code: row.code, ...change } });
      return true;
    });
  }

  private connectionOf(row: Parameters<typeof tenantConnection>[0]): ConnectionInfo {
    const connection = tenantConnection(row, this.controlInfo);
    if (!connection) throw invalid('db-secret-ref', `${row.dbSecretRef} is not in the environment`);
    return connection;
  }

  private async refuseForeignTables(connection: ConnectionInfo): Promise<void> {
    const tables = await queryOnce<{ name: string }>(
      { ...connection, database: '' },
      this.env.MYSQL_CONNECT_TIMEOUT_MS,
      'SELECT table_name AS name FROM information_schema.tables WHERE table_schema = ?',
      [connection.database],
    );
    if (tables.length === 0 || tables.some((table) => table.name === 'im_migrations')) return;
    throw new AppError('CONFLICT', {
      message: `The database ${connection.database} holds tables of something else. Choose another db-name.`,
    });
  }

  /** One creation at a time in the whole installation: two could pass the checks together. */
  private async alone<T>(work: (manager: EntityManager) => Promise<T>): Promise<T> {
    const runner = this.source.createQueryRunner();
    const lock = `im_tenants:${this.controlInfo.database}`.slice(0, 64);
    try {
      // Waiting in steps: the session's statement time limit is shorter than a migration may take.
      const deadline = Date.now() + CREATE_LOCK_WAIT_SECONDS * 1000;
      for (;;) {
        const [row] = (await runner.query('SELECT GET_LOCK(?, 1) AS held', [lock])) as { held: string | number }[];
        if (Number(row.held) === 1) break;
        if (Date.now() > deadline) throw new AppError('IN_PROGRESS', { message: 'Another tenant is being created.' });
      }
      return await work(runner.manager);
    } finally {
      await runner.query('SELECT RELEASE_LOCK(?)', [lock]).catch(() => undefined);
      await runner.release();
    }
  }
}

/** The settings as they are stored with the change in them; null takes a setting away, so that its default counts. */
function mergedSettings(stored: string, change: Readonly<Record<string, unknown>>): string {
  let before: object = {};
  try {
    before = JSON.parse(stored) as object;
  } catch {
    // What did not parse is replaced: that is how it is repaired.
  }
  const entries = Object.entries({ ...before, ...change }).filter(([, value]) => value !== null);
  const settings = Object.fromEntries(entries);
  const result = tenantSettingsSchema.safeParse(settings);
  if (result.success) return JSON.stringify(settings);
  const details = result.error.issues.map(({ path, message }) => ({
    field: ['settings', ...path].join('.'),
    problem: message,
  }));
  throw new AppError('VALIDATION_FAILED', { details });
}

type NewRow = Pick<
  TenantEntity,
  'code' | 'name' | 'status' | 'dbName' | 'dbHost' | 'dbPort' | 'dbUser' | 'dbSecretRef' | 'settings'
>;

function rowOf(request: NewTenant): NewRow {
  const { code, name, dbHost, dbPort, dbUser, dbSecretRef } = request;
  const dbName = request.dbName ?? `im_${code.toLowerCase().replaceAll('-', '_')}`;
  if (!TENANT_CODE.test(code))
    throw invalid('code', 'must be 1 to 63 letters, digits, _ or -, a letter or digit first');
  if (name.trim() === '' || [...name].length > 128) throw invalid('name', 'must have 1 to 128 characters');
  if (!/^[A-Za-z0-9_]{1,64}$/.test(dbName)) throw invalid('db-name', 'must be 1 to 64 letters, digits or _');
  if (dbPort !== undefined && !(Number.isInteger(dbPort) && dbPort >= 1 && dbPort <= 65535)) {
    throw invalid('db-port', 'must be a whole number from 1 to 65535');
  }
  if (dbSecretRef !== undefined && !/^env:[A-Za-z_][A-Za-z0-9_]*$/.test(dbSecretRef)) {
    throw invalid('db-secret-ref', 'must look like env:NAME');
  }
  if (dbSecretRef !== undefined && resolveSecret(dbSecretRef) === undefined) {
    throw invalid('db-secret-ref', `${dbSecretRef} is not in the environment`);
  }
  return {
    code,
    name,
    status: 'active',
    dbName,
    dbHost: dbHost ?? null,
    dbPort: dbPort ?? null,
    dbUser: dbUser ?? null,
    dbSecretRef: dbSecretRef ?? null,
    settings: JSON.stringify(tenantSettingsSchema.parse(request.settings ?? {})),
  };
}

/** Two tenants in one database would read each other's users. */
function refuseTaken(
  row: NewRow,
  connection: ConnectionInfo,
  others: readonly TenantEntity[],
  control: ConnectionInfo,
): void {
  const conflict = (message: string): AppError => new AppError('CONFLICT', { message });
  const place = placeOf(connection);
  if (place === placeOf(control)) {
    throw conflict(`${row.dbName} is the control database. Choose another db-name.`);
  }
  for (const { id, code, status, dbHost, dbPort, dbName } of others) {
    if (code === row.code) throw conflict(`The tenant ${code} exists already (id ${id}, ${status}).`);
    const taken = placeOf({ host: dbHost ?? control.host, port: dbPort ?? control.port, database: dbName });
    if (taken === place)
      throw conflict(`The database ${dbName} belongs to the tenant ${code}. Choose another db-name.`);
  }
}

/** Database names differ in case only on some file systems: taken as equal everywhere. */
function placeOf({ host, port, database }: Pick<ConnectionInfo, 'host' | 'port' | 'database'>): string {
  const sameHost = /^(localhost|::1|127\.0\.0\.1)$/i.test(host) ? 'localhost' : host.toLowerCase();
  return `${sameHost}:${port}/${database.toLowerCase()}`;
}
