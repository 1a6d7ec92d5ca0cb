import { AppError } from '../../../src/platform/errors/app-error.js';
import { toAppError } from '../../../src/platform/errors/to-app-error.js';
import { parseMysqlUrl } from '../../../src/platform/mysql/connection-info.js';
import {
  duplicateKeyName,
  errnoOf,
  isDeadlock,
  isDuplicate,
  isLockWait,
  isStatementTimeout,
  isUnavailable,
} from '../../../src/platform/mysql/mysql-errors.js';
import {
  flavorOf,
  sessionStatements,
  WRITER_IDLE_TIMEOUT_MS,
  WRITER_WAIT_TIMEOUT_SECONDS,
} from '../../../src/platform/mysql/session-settings.js';
import { CommitUnknown, StatementTimeout } from '../../../src/platform/mysql/writer-pool.js';

const server = (errno: number, sqlMessage = ''): Error =>
  Object.assign(new Error(sqlMessage), { errno, sqlMessage, code: 'ER_WRONG_NAME' });
const driver = (code: string): Error => Object.assign(new Error(code), { code });

describe('errors of MySQL and MariaDB', () => {
  it('are told apart by number, whatever the driver calls them', () => {
    expect(isDuplicate(server(1062))).toBe(true);
    expect(isDeadlock(server(1213))).toBe(true);
    expect([1205, 3572].map((errno) => isLockWait(server(errno)))).toEqual([true, true]);
    expect([1969, 3024].map((errno) => isStatementTimeout(server(errno)))).toEqual([true, true]);
    expect(isDuplicate(Object.assign(new Error(), { code: 'ER_DUP_ENTRY' }))).toBe(false);
    for (const nothing of [null, undefined, 'x', {}, { errno: '1062' }, { errno: -111 }])
      expect(errnoOf(nothing)).toBeUndefined();
  });

  it.each([
    ['a server that goes', server(1053)],
    ['too many connections', server(1040)],
    ['a killed query', server(1317)],
    ['a killed connection of MariaDB', server(1927)],
    ['an idle connection that MySQL ended', server(4031)],
    ['a statement that took too long', server(1969)],
    ['a lost connection', driver('PROTOCOL_CONNECTION_LOST')],
    ['a refused one', driver('ECONNREFUSED')],
    ['a pool without a free one', driver('POOL_ACQUIRE_TIMEOUT')],
    ['a full queue', new Error('Queue limit reached.')],
    ['no answer', new StatementTimeout(5_000)],
    ['an unknown COMMIT', new CommitUnknown({})],
  ])('%s means: not now', (_what, error) => {
    expect(isUnavailable(error)).toBe(true);
    expect(toAppError(error)).toMatchObject({ code: 'STORAGE_UNAVAILABLE', retryable: true });
  });

  it.each([server(1062), server(1406), server(1146), new Error('x'), null])('%s does not', (error) => {
    expect(isUnavailable(error)).toBe(false);
    expect(toAppError(error)).toMatchObject({ code: 'INTERNAL' });
  });

  it.each([1213, 1205])('%i that is left is retryable', (errno) => {
    expect(toAppError(server(errno))).toMatchObject({ code: 'STORAGE_UNAVAILABLE', retryable: true });
  });

  it('name the violated key, from the end', () => {
    const key = "Duplicate entry 'it''s 'quoted' for key 'x'' for key 'im_group_messages.uk_client'";
    expect(duplicateKeyName(server(1062, key))).toBe('uk_client');
    expect(duplicateKeyName(server(1062, "Duplicate entry 'a-b' for key 'PRIMARY'"))).toBe('PRIMARY');
    expect(duplicateKeyName(new Error())).toBeUndefined();
  });

  it('keep an error that is one already', () => {
    const error = new AppError('MUTED');
    expect(toAppError(error)).toBe(error);
  });
});

describe('session settings', () => {
  const text = (...args: Parameters<typeof sessionStatements>): string => sessionStatements(...args).join('; ');

  it('are the same for time, strictness and isolation everywhere', () => {
    for (const flavor of ['mysql', 'mariadb'] as const) {
      for (const role of ['reader', 'writer'] as const) {
        const settings = text(flavor, role, 5_000);
        expect(settings).toContain("time_zone = '+00:00'");
        expect(settings).toContain('STRICT_TRANS_TABLES');
        expect(settings).toContain('innodb_lock_wait_timeout = 1');
        expect(settings).toContain('ISOLATION LEVEL READ COMMITTED');
      }
    }
  });

  it('bound a read in the unit of its server, and end a session that is silent where that is wanted', () => {
    expect(text('mariadb', 'reader', 2_500)).toContain('max_statement_time = 2.5');
    expect(text('mysql', 'reader', 2_500)).toContain('max_execution_time = 2500');
    expect(text('mysql', 'writer', 2_500, 10)).toContain('wait_timeout = 10');
    expect(text('mariadb', 'reader', 2_500, 30)).toContain('wait_timeout = 30');
    expect(text('mariadb', 'writer', 2_500)).not.toContain('max_statement_time');
    expect(text('mysql', 'reader', 2_500)).not.toContain('SESSION wait_timeout');
    expect(WRITER_IDLE_TIMEOUT_MS).toBeLessThan(WRITER_WAIT_TIMEOUT_SECONDS * 1_000);
  });

  it('follow the server that was found', () => {
    expect(flavorOf('10.11.6-MariaDB-0+deb12u1')).toBe('mariadb');
    expect(flavorOf('5.5.5-10.5.8-mariadb')).toBe('mariadb');
    expect(flavorOf('9.7.0')).toBe('mysql');
  });
});

describe('a MySQL address', () => {
  it('is taken apart, with its credentials decoded', () => {
    expect(parseMysqlUrl('mysql://us%40er:p%2Fw@db.example:3307/im%5Fx')).toEqual({
      host: 'db.example',
      port: 3307,
      user: 'us@er',
      password: 'p/w',
      database: 'im_x',
    });
    expect(parseMysqlUrl('mysql://[::1]')).toEqual({
      host: '::1',
      port: 3306,
      user: 'root',
      password: '',
      database: 'im_control',
    });
  });
});
