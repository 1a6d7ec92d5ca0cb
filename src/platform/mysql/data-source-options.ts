import type { MysqlDataSourceOptions } from 'typeorm/driver/mysql/MysqlDataSourceOptions.js';
import type { ConnectionInfo } from './connection-info.js';
import type { Flavor } from './session-settings.js';

type ClassOf = abstract new (...args: never[]) => unknown;

/** Entities and migrations of one kind of database; handed in by the application, since the platform knows no table. */
export interface DatabaseSchema {
  readonly entities: readonly ClassOf[];
  readonly migrations: readonly ClassOf[];
}

export interface PoolLimits {
  readonly connections: number;
  readonly connectTimeoutMs: number;
  /** The server ends a session that says nothing for so long, and with it the locks of a frozen node; absent = it does not. */
  readonly silentSeconds?: number;
}

/** How long connections may be idle where the server ends no silent ones. */
const IDLE_MS = 30_000;

/** TypeORM options of a control or tenant database. `type` follows the server found: `mysql` on MariaDB gives wrong diffs. */
export function dataSourceOptions(
  flavor: Flavor,
  info: ConnectionInfo,
  schema: DatabaseSchema,
  limits: PoolLimits,
): MysqlDataSourceOptions {
  return {
    type: flavor,
    host: info.host,
    port: info.port,
    username: info.user,
    password: info.password,
    database: info.database,
    charset: 'utf8mb4_bin',
    timezone: 'Z',
    synchronize: false,
    entities: [...schema.entities] as MysqlDataSourceOptions['entities'],
    migrations: [...schema.migrations] as MysqlDataSourceOptions['migrations'],
    migrationsTableName: 'im_migrations',
    migrationsTransactionMode: 'none',
    poolSize: limits.connections,
    connectTimeout: limits.connectTimeoutMs,
    extra: {
      // Idle connections go before the server ends them under our hands; the driver looks for them only when fewer may be
      // idle than open.
      maxIdle: Math.min(2, limits.connections - 1),
      idleTimeout: limits.silentSeconds === undefined ? IDLE_MS : limits.silentSeconds * 500,
      // An exhausted pool must fail, not wait for ever.
      queueLimit: limits.connections * 64,
      enableKeepAlive: true,
    },
  };
}
