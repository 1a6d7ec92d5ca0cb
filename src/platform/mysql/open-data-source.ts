import { createConnection, type Connection, type Pool } from 'mysql2';
import { DataSource } from 'typeorm';
import type { ConnectionInfo } from './connection-info.js';
import { dataSourceOptions, type DatabaseSchema, type PoolLimits } from './data-source-options.js';
import { configureSession, flavorOf, sessionStatements, type Flavor } from './session-settings.js';

/** What one short connection tells of a server. */
export async function probeFlavor(info: ConnectionInfo, connectTimeoutMs: number): Promise<Flavor> {
  const rows = await onceQuery(info, connectTimeoutMs, 'SELECT VERSION() AS version');
  return flavorOf(String((rows as { version: unknown }[])[0].version));
}

/** Makes a database that is not there yet, with the character set that every table expects. */
export async function createDatabaseIfMissing(info: ConnectionInfo, connectTimeoutMs: number): Promise<void> {
  if (!/^\w{1,64}$/.test(info.database)) throw new Error(`not a usable database name: ${info.database}`);
  const sql = `CREATE DATABASE IF NOT EXISTS \`${info.database}\` CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`;
  await onceQuery({ ...info, database: '' }, connectTimeoutMs, sql);
}

function onceQuery(info: ConnectionInfo, connectTimeoutMs: number, sql: string): Promise<unknown> {
  const connection = createConnection({
    host: info.host,
    port: info.port,
    user: info.user,
    password: info.password,
    database: info.database || undefined,
    connectTimeout: connectTimeoutMs,
  });
  return new Promise((resolve, reject) => {
    connection.on('error', reject);
    connection.query(sql, (error: unknown, rows: unknown) => {
      connection.destroy();
      if (error) reject(error as Error);
      else resolve(rows);
    });
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
  const statements = sessionStatements(flavor, 'reader', limits.statementTimeoutMs);
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
