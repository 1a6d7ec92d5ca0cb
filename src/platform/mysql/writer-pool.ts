import { createPool, type Pool, type PoolConnection, type QueryOptions } from 'mysql2';
import type { EntityManager } from 'typeorm';
import type { ConnectionInfo } from './connection-info.js';
import { errnoOf, isUnavailable } from './mysql-errors.js';
import {
  configureSession,
  sessionStatements,
  WRITER_IDLE_TIMEOUT_MS,
  WRITER_WAIT_TIMEOUT_SECONDS,
  type Flavor,
} from './session-settings.js';

/** Where statements of one transaction go, whichever pool it runs in. */
export type Querying = Pick<EntityManager, 'query'>;

/** A statement was sent and its answer did not come in time: the server may still carry it out. */
export class StatementTimeout extends Error {
  /** As the driver's own: the storage is away. */
  readonly code = 'PROTOCOL_STATEMENT_TIMEOUT';

  constructor(timeoutMs: number) {
    super(`no answer from MySQL within ${timeoutMs} ms`);
    this.name = 'StatementTimeout';
  }
}

/** COMMIT was sent and not answered: the transaction may be stored, and may still become stored. */
export class CommitUnknown extends Error {
  /** As the driver's own: the storage is away. */
  readonly code = 'PROTOCOL_COMMIT_UNKNOWN';

  constructor(options: ErrorOptions) {
    super('the outcome of a COMMIT is not known', options);
    this.name = 'CommitUnknown';
  }
}

export interface WriteResult {
  readonly affectedRows: number;
  readonly insertId: string | number;
}

/**
 * One borrowed connection. MySQL cannot limit an INSERT, so each statement has a client timer that destroys the
 * connection: its locks end with it, and the outcome is unknown.
 */
export class WriterSession {
  private broken = false;
  private open = false;

  constructor(
    private readonly connection: PoolConnection,
    private readonly timeoutMs: number,
  ) {}

  async rows<T>(sql: string, values?: readonly unknown[]): Promise<T[]> {
    return (await this.run({ sql, values: given(values) })) as T[];
  }

  async write(sql: string, values?: readonly unknown[]): Promise<WriteResult> {
    return (await this.run({ sql, values: given(values) })) as WriteResult;
  }

  /** Opens a transaction with its first statement, in one round trip. @returns what that statement answers */
  async begin<T>(sql: string, values?: readonly unknown[]): Promise<T[]> {
    this.open = true;
    const [, rows] = (await this.run({
      sql: `START TRANSACTION; ${sql}`,
      values: given(values),
    })) as [unknown, T[]];
    return rows;
  }

  /** Any one statement: rows of a SELECT, else what was written. */
  async query<T>(sql: string, values?: unknown[]): Promise<T> {
    return (await this.run({ sql, values: given(values) })) as T;
  }

  /**
   * The last write of a transaction and its COMMIT, in one round trip; the server does not reach the COMMIT when the write
   * fails.
   * @throws CommitUnknown when it was not answered
   */
  async writeAndCommit(sql: string, values?: readonly unknown[]): Promise<WriteResult> {
    const results = await this.committing(() => this.run({ sql: `${sql}; COMMIT`, values: given(values) }));
    return (results as [WriteResult, unknown])[0];
  }

  /** @throws CommitUnknown when it was not answered */
  async commit(): Promise<void> {
    await this.committing(() => this.run({ sql: 'COMMIT' }));
  }

  /** Ends whatever is open; a connection that cannot even do that is destroyed. */
  async rollback(): Promise<void> {
    if (!this.open || this.broken) return;
    await this.run({ sql: 'ROLLBACK' }).catch(() => this.destroy());
    this.open = false;
  }

  /** Gives the connection back. */
  release(): void {
    if (!this.broken) this.connection.release();
  }

  destroy(): void {
    if (this.broken) return;
    this.broken = true;
    this.connection.destroy();
  }

  private async committing<T>(work: () => Promise<T>): Promise<T> {
    try {
      const result = await work();
      this.open = false;
      return result;
    } catch (cause) {
      // What the server answered to the write before the COMMIT is a plain failure: ROLLBACK follows. A statement that was
      // cut short may have been the COMMIT itself.
      const errno = errnoOf(cause);
      if (errno !== undefined && !COMMIT_ERRORS.has(errno) && !isUnavailable(cause)) throw cause;
      this.destroy();
      throw new CommitUnknown({ cause });
    }
  }

  private run(options: QueryOptions): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.destroy();
        reject(new StatementTimeout(this.timeoutMs));
      }, this.timeoutMs);
      this.connection.query(options, (error: unknown, result: unknown) => {
        clearTimeout(timer);
        if (error) reject(error as Error);
        else resolve(result);
      });
    });
  }
}

/** The server's own failures of COMMIT itself. */
const COMMIT_ERRORS = new Set([1180, 1181, 1196, 3100, 3101]);

/** Without values the text is sent as it is; the driver would look through all of an empty list's statement otherwise. */
const given = (values: readonly unknown[] | undefined): unknown[] => (values ?? null) as unknown[];

export interface WriterPoolOptions {
  readonly connections: number;
  readonly connectTimeoutMs: number;
  readonly statementTimeoutMs: number;
}

/** Connections for fenced writes: own session settings, `-FOUND_ROWS` (an unchanged duplicate counts as 0 rows). */
export class WriterPool {
  private readonly pool: Pool;

  constructor(
    flavor: Flavor,
    info: ConnectionInfo,
    private readonly options: WriterPoolOptions,
  ) {
    this.pool = createPool({
      host: info.host,
      port: info.port,
      user: info.user,
      password: info.password,
      database: info.database,
      charset: 'utf8mb4_bin',
      timezone: 'Z',
      supportBigNumbers: true,
      bigNumberStrings: true,
      flags: ['-FOUND_ROWS'],
      // Two statements in one round trip; every value is escaped by the driver, as in any text query.
      multipleStatements: true,
      connectionLimit: options.connections,
      connectTimeout: options.connectTimeoutMs,
      // Idle connections go before the server's wait_timeout ends them under our hands (the driver looks for them only
      // when fewer may be idle than open).
      maxIdle: options.connections - 1,
      idleTimeout: WRITER_IDLE_TIMEOUT_MS,
      queueLimit: 256,
      enableKeepAlive: true,
    });
    const statements = sessionStatements(flavor, 'writer', options.statementTimeoutMs, WRITER_WAIT_TIMEOUT_SECONDS);
    this.pool.on('connection', (connection) => configureSession(connection as never, statements));
  }

  /** @throws the driver's error when no connection is to be had in time. */
  async session(): Promise<WriterSession> {
    return new WriterSession(await this.acquire(), this.options.statementTimeoutMs);
  }

  /**
   * Lends a connection to `work`, which opens a transaction by `begin` and ends it by `commit` or `writeAndCommit`; one that
   * is still open afterwards is rolled back.
   * @throws CommitUnknown when COMMIT was not answered; any other error means that nothing was stored: the transaction
   * was rolled back, or its connection destroyed before COMMIT was sent
   */
  async transaction<T>(work: (session: WriterSession) => Promise<T>): Promise<T> {
    const session = await this.session();
    try {
      return await work(session);
    } finally {
      await session.rollback();
      session.release();
    }
  }

  /** As `transaction`, for work that asks one statement after the other; it is committed at its end. */
  committed<T>(work: (tx: Querying) => Promise<T>): Promise<T> {
    return this.transaction(async (session) => {
      await session.begin('SELECT 1');
      const result = await work(session);
      await session.commit();
      return result;
    });
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => this.pool.end(() => resolve()));
  }

  private acquire(): Promise<PoolConnection> {
    const waitMs = this.options.connectTimeoutMs;
    return new Promise((resolve, reject) => {
      let late = false;
      const timer = setTimeout(() => {
        late = true;
        reject(
          Object.assign(new Error(`no free MySQL connection within ${waitMs} ms`), { code: 'POOL_ACQUIRE_TIMEOUT' }),
        );
      }, waitMs);
      this.pool.getConnection((error, connection) => {
        clearTimeout(timer);
        if (error) return reject(error);
        if (late) return connection.release();
        resolve(connection);
      });
    });
  }
}
