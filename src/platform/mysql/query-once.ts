import { createConnection } from 'mysql2';
import type { ConnectionInfo } from './connection-info.js';

/**
 * One statement on a connection of its own, for start-up and tools.
 * @param info an empty `database` selects none
 * @returns the rows of a SELECT; ids as strings
 */
export function queryOnce<T>(
  info: ConnectionInfo,
  connectTimeoutMs: number,
  sql: string,
  values: readonly unknown[] = [],
): Promise<T[]> {
  const connection = createConnection({
    host: info.host,
    port: info.port,
    user: info.user,
    password: info.password,
    database: info.database || undefined,
    connectTimeout: connectTimeoutMs,
    supportBigNumbers: true,
    bigNumberStrings: true,
  });
  return new Promise((resolve, reject) => {
    connection.on('error', reject);
    connection.query({ sql, values: values as unknown[] }, (error: unknown, rows: unknown) => {
      connection.destroy();
      if (error) reject(error as Error);
      else resolve(rows as T[]);
    });
  });
}
