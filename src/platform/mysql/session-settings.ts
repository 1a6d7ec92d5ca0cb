import type { Connection } from 'mysql2';

export type Flavor = 'mariadb' | 'mysql';

/** `reader` bounds SELECTs; what a `writer` does is bounded by its node. */
export type SessionRole = 'reader' | 'writer';

/** Seconds after which the server ends a silent writer session and with it its locks. Pools let go of idle ones before. */
export const WRITER_WAIT_TIMEOUT_SECONDS = 10;
export const WRITER_IDLE_TIMEOUT_MS = 6_000;

export function flavorOf(version: string): Flavor {
  return /mariadb/i.test(version) ? 'mariadb' : 'mysql';
}

/**
 * What every new connection runs first.
 * @param silentSeconds after which the server ends a session that says nothing, and with it its locks; absent = its own
 */
export function sessionStatements(
  flavor: Flavor,
  role: SessionRole,
  statementTimeoutMs: number,
  silentSeconds?: number,
): string[] {
  const settings = [
    "time_zone = '+00:00'",
    "sql_mode = 'STRICT_TRANS_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'",
    'innodb_lock_wait_timeout = 1',
    ...(silentSeconds === undefined ? [] : [`wait_timeout = ${silentSeconds}`]),
    ...(role === 'reader' && flavor === 'mariadb' ? [`max_statement_time = ${statementTimeoutMs / 1000}`] : []),
    ...(role === 'reader' && flavor === 'mysql' ? [`max_execution_time = ${statementTimeoutMs}`] : []),
  ];
  return [`SET SESSION ${settings.join(', SESSION ')}`, 'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED'];
}

/**
 * Queues the settings on a raw connection before anything else can be queued on it. A connection that could not be
 * configured is destroyed: a session in another time zone or isolation level would write wrong data.
 */
export function configureSession(connection: Connection, statements: readonly string[]): void {
  for (const statement of statements) {
    connection.query(statement, (error: unknown) => {
      if (error) connection.destroy();
    });
  }
}
