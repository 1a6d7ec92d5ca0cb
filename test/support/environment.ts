import { randomBytes } from 'node:crypto';
import { parseMysqlUrl, type ConnectionInfo } from '../../src/platform/mysql/connection-info.js';

export const JWT_SECRET = 'j'.repeat(40);

/** Addresses of the servers that the tests may fill. */
export interface ServerUrls {
  readonly mysql: string;
  readonly redis: string;
}

export function givenServers(): ServerUrls {
  const { MYSQL_URL, REDIS_URL } = process.env;
  if (!MYSQL_URL || !REDIS_URL) throw new Error('run the tests with: npm test (they need MYSQL_URL and REDIS_URL)');
  return { mysql: MYSQL_URL, redis: REDIS_URL };
}

/** A name that no other test has: prefix of its Redis keys and of its databases. */
export const freshName = (): string => `t${randomBytes(5).toString('hex')}`;

/** A few users of a test do what many do. Tests of the limits set their own. */
const LIMITS = Object.fromEntries([
  ...['SEND', 'READ', 'WRITE', 'HANDSHAKE'].flatMap((name) => [
    [`LIMIT_${name}_PER_SECOND`, '1000000'],
    [`LIMIT_${name}_BURST`, '10000000'],
  ]),
  ['LIMIT_AUTH_PER_MINUTE', '10000000'],
  ['LIMIT_UNAUTHENTICATED_PER_MINUTE', '10000000'],
]) as Record<string, string>;

/** The environment of a node, as a process would get it. */
export function nodeEnvironment(
  name: string,
  servers: ServerUrls,
  settings: Record<string, string> = {},
): Record<string, string> {
  const mysql = new URL(servers.mysql);
  mysql.pathname = `/${name}_control`;
  return {
    NODE_ENV: 'test',
    LOG_LEVEL: process.env.TEST_LOG_LEVEL ?? 'silent',
    HOST: '127.0.0.1',
    MYSQL_URL: mysql.href,
    REDIS_URL: servers.redis,
    REDIS_KEY_PREFIX: name,
    JWT_SECRET,
    SECRETS_KEY: 's'.repeat(40),
    PHONE_HASH_KEY: 'p'.repeat(40),
    ADMIN_TOKEN: 'a'.repeat(40),
    ...LIMITS,
    ...settings,
  };
}

export function databaseAt(servers: ServerUrls, database: string): ConnectionInfo {
  return { ...parseMysqlUrl(servers.mysql), database };
}
