/**
 * MySQL's and MariaDB's errors are told apart by number, never by name: mysql2 misnames those that MariaDB numbers itself.
 */
const DUPLICATE = new Set([1062, 1586]);
const DEADLOCK = 1213;
const LOCK_WAIT = new Set([1205, 3572]);
const STATEMENT_TIMEOUT = new Set([1969, 3024]);

export function errnoOf(error: unknown): number | undefined {
  const errno = (error as { errno?: unknown } | null)?.errno;
  return typeof errno === 'number' && errno > 0 ? errno : undefined;
}

export const isDuplicate = (error: unknown): boolean => DUPLICATE.has(errnoOf(error) ?? 0);
export const isDeadlock = (error: unknown): boolean => errnoOf(error) === DEADLOCK;
export const isLockWait = (error: unknown): boolean => LOCK_WAIT.has(errnoOf(error) ?? 0);
export const isStatementTimeout = (error: unknown): boolean => STATEMENT_TIMEOUT.has(errnoOf(error) ?? 0);

/** Server errors that say "not now" rather than "not so": shutdown in progress, too many connections, killed query, read-only. */
const NOT_NOW = new Set([
  1040, 1053, 1077, 1079, 1152, 1159, 1161, 1184, 1203, 1226, 1290, 1317, 1792, 1836, 1927, 3169, 4031,
]);

/** The driver's own words for a pool that ran out or a server that went away. */
const DRIVER_FAULT =
  /^(PROTOCOL_|ECONN|ETIMEDOUT|EPIPE|EHOSTUNREACH|ENOTFOUND|EAI_AGAIN|POOL_)|closed state|Pool is closed|Queue limit reached|No connections available|Connection lost/;

/** Is the storage away or refusing everybody (as opposed to this statement being wrong)? */
export function isUnavailable(error: unknown): boolean {
  if (NOT_NOW.has(errnoOf(error) ?? 0) || isStatementTimeout(error)) return true;
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  return DRIVER_FAULT.test(String(code ?? '')) || DRIVER_FAULT.test(String(message ?? ''));
}

/** Name of the violated unique key, without the table prefix of newer servers. The value part may hold quotes: read from the end. */
export function duplicateKeyName(error: unknown): string | undefined {
  const message = String((error as { sqlMessage?: unknown } | null)?.sqlMessage ?? '');
  return /'([^']+)'\s*$/.exec(message)?.[1].split('.').pop();
}
