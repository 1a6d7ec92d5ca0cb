import type { Connection, Pool } from 'mysql2';
import { DataSource } from 'typeorm';
import type { ConnectionInfo } from './connection-info.js';
import { dataSourceOptions, type DatabaseSchema, type PoolLimits } from './data-source-options.js';
import { errnoOf } from './mysql-errors.js';
import { queryOnce } from './query-once.js';
import { configureSession, flavorOf, sessionStatements, type Flavor } from './session-settings.js';

/** What one short connection tells of a server. */
export async function probeFlavor(info: ConnectionInfo, connectTimeoutMs: number): Promise<Flavor> {
  const [row] = await queryOnce<{ version: unknown }>(info, connectTimeoutMs, 'SELECT VERSION() AS version');
  return flavorOf(String(row.version));
}

/** The user may use this database, but make none. */
const MAY_NOT_CREATE = 1044;

/** Makes a database that is not there yet, with the character set that every table expects. */
export async function createDatabaseIfMissing(info: ConnectionInfo, connectTimeoutMs: number): Promise<void> {
  if (!/^\w{1,64}$/.test(info.database)) throw new Error(`not a usable database name: ${info.database}`);
  const sql = `CREATE DATABASE IF NOT EXISTS \`${info.database}\` CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`;
  await queryOnce({ ...info, database: '' }, connectTimeoutMs, sql).catch((error: unknown) => {
    // An operator may have made it by hand for a user without that right; if not, connecting to it says so.
    if (errnoOf(error) !== MAY_NOT_CREATE) throw error;
  });
}

/** Opens a TypeORM DataSource whose every connection has the session settings of its role. */
export async function openDataSource(
  flavor: Flavor,
  info: ConnectionInfo,
  schema: DatabaseSchema,
  limits: PoolLimits & { readonly statementTimeoutMs: number },
): Promise<DataSource> {
  const source = new DataSource(dataSourceOptions(flavor, info, schema, limits));
  await source.initialize();
  const statements = sessionStatements(flavor, 'reader', limits.statementTimeoutMs, limits.silentSeconds);
  const pool = (source.driver as unknown as { pool: Pool }).pool;
  pool.on('connection', (connection) => configureSession(connection as unknown as Connection, statements));
  // The connection that initialize() opened came before that listener.
  await new Promise<void>((resolve, reject) => {
    pool.getConnection((error, connection) => {
      if (error) return reject(error);
      configureSession(connection as unknown as Connection, statements);
      connection.query('SELECT 1', (queryError: unknown) => {
        connection.release();
        if (queryError) reject(queryError as Error);
        else resolve();
      });
    });
  });
  return source;
}
