import type { Env } from '../../src/platform/env/env.js';
import type { TenantId } from '../../src/platform/ids/ids.js';
import type { TenantDataSources } from '../../src/platform/mysql/tenant-data-sources.js';
import type { TenantDb } from '../../src/platform/mysql/tenant-db.js';
import type { WriterPool, WriterSession } from '../../src/platform/mysql/writer-pool.js';
import type { Logger } from '../../src/platform/observe/logger.js';
import type { Metrics } from '../../src/platform/observe/metrics.js';
import type { RedisClient, RedisClients } from '../../src/platform/redis/redis-clients.js';
import { RedisScripts, type RedisScript } from '../../src/platform/redis/redis-scripts.js';

/** One round trip of a writer session on its way to the server. */
export interface Statement {
  /** `commit` is a COMMIT, alone or with the last write before it. */
  readonly kind: 'begin' | 'statement' | 'commit' | 'rollback';
  readonly sql: string;
  readonly session: WriterSession;
  /** The server's id of the connection, for KILL. */
  readonly connectionId: number;
  run(): Promise<unknown>;
  /** Of a `commit`: only the write before it, so that the transaction stays open. */
  writeOnly(): Promise<unknown>;
  /** Of a `commit`: COMMIT alone, after `writeOnly`. */
  commitOnly(): Promise<unknown>;
}

/** What a test puts around a node's calls: each gets the real call and decides when, and if, it is made. */
export interface Hooks {
  script?: (name: string, run: () => Promise<unknown>) => Promise<unknown>;
  statement?: (statement: Statement) => Promise<unknown>;
  /** Reads outside transactions. */
  query?: (sql: string, run: () => Promise<unknown>) => Promise<unknown>;
}

/** Redis as a node sees it. Faults of a test do not count for the circuit breaker: they come from outside of it. */
export class HookedScripts extends RedisScripts {
  constructor(
    clients: RedisClients,
    env: Env,
    log: Logger,
    metrics: Metrics,
    private readonly hooks: Hooks,
  ) {
    super(clients, env, log, metrics);
  }

  override run(
    script: RedisScript,
    keys: readonly string[],
    args: readonly (string | number | Buffer)[],
  ): Promise<unknown> {
    const call = (): Promise<unknown> => super.run(script, keys, args);
    return this.hooks.script ? this.hooks.script(script.name, call) : call();
  }

  override runThen<T>(
    script: RedisScript,
    keys: readonly string[],
    args: readonly (string | number | Buffer)[],
    read: (client: RedisClient) => Promise<T>,
  ): Promise<[reply: unknown, read: T]> {
    const call = (): Promise<[unknown, T]> => super.runThen(script, keys, args, read);
    return this.hooks.script ? (this.hooks.script(script.name, call) as Promise<[unknown, T]>) : call();
  }
}

/** A node's view of its machine's databases; what is not hooked goes straight through. */
export function hookedDatabases(databases: TenantDataSources, hooks: Hooks): TenantDataSources {
  const view = Object.create(databases) as TenantDataSources;
  view.run = <T>(tenant: TenantId, work: (db: TenantDb) => Promise<T>) =>
    databases.run(tenant, (db) => work(hookedDb(db, hooks)));
  return view;
}

function hookedDb(db: TenantDb, hooks: Hooks): TenantDb {
  const writer = Object.create(db.writer) as WriterPool;
  writer.session = async () => hookedSession(await db.writer.session(), hooks);
  const query = <T>(sql: string, values: readonly unknown[] = []): Promise<T[]> => {
    const call = (): Promise<T[]> => db.query<T>(sql, values);
    return hooks.query ? (hooks.query(sql, call) as Promise<T[]>) : call();
  };
  const rows = <T extends readonly unknown[]>(sql: string, values: readonly unknown[] = []): Promise<T[]> => {
    const call = (): Promise<T[]> => db.rows<T>(sql, values);
    return hooks.query ? (hooks.query(sql, call) as Promise<T[]>) : call();
  };
  return Object.create(db, {
    writer: { value: writer },
    query: { value: query },
    rows: { value: rows },
  }) as TenantDb;
}

function hookedSession(session: WriterSession, hooks: Hooks): WriterSession {
  const { connection } = session as unknown as { connection: { threadId: number } };
  const original = {
    begin: session.begin.bind(session),
    rows: session.rows.bind(session),
    write: session.write.bind(session),
    writeAndCommit: session.writeAndCommit.bind(session),
    commit: session.commit.bind(session),
    rollback: session.rollback.bind(session),
  };
  const around =
    (kind: Statement['kind'], call: (sql: string, values?: readonly unknown[]) => Promise<unknown>) =>
    (sql = '', values: readonly unknown[] = []): Promise<unknown> => {
      const run = (): Promise<unknown> => call(sql, values);
      const writeOnly = async (): Promise<unknown> => (sql === '' ? undefined : original.write(sql, values));
      const statement = { kind, sql, session, connectionId: connection.threadId, run, writeOnly };
      return hooks.statement ? hooks.statement({ ...statement, commitOnly: () => original.commit() }) : run();
    };
  return Object.assign(session, {
    begin: around('begin', original.begin),
    rows: around('statement', original.rows),
    write: around('statement', original.write),
    writeAndCommit: around('commit', original.writeAndCommit),
    commit: around('commit', () => original.commit()),
    rollback: around('rollback', () => original.rollback()),
  });
}
