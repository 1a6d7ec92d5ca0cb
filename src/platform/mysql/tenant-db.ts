import type { Pool } from 'mysql2';
import type { DataSource, EntityManager, EntityTarget, ObjectLiteral, Repository } from 'typeorm';
import type { TenantId } from '../ids/ids.js';
import { AppError } from '../errors/app-error.js';
import { marked } from './commit-mark.js';
import { isDeadlock, isLockWait } from './mysql-errors.js';
import type { Querying, WriterPool } from './writer-pool.js';
import type { Flavor } from './session-settings.js';

const TRANSACTION_TRIES = 5;

/** A transaction that did not end in time; it may still commit. */
export class OpenOutcome extends AppError {
  /** @param ended resolves, and never rejects, when the transaction will do nothing more by itself */
  constructor(readonly ended: Promise<void>) {
    super('STORAGE_UNAVAILABLE', { retryAfterMs: 1000 });
  }
}

/** One tenant's database. Held only inside `TenantDataSources.run`, never across it: the pool behind it may be closed. */
export class TenantDb {
  private step?: Promise<bigint>;

  constructor(
    readonly tenant: TenantId,
    readonly flavor: Flavor,
    readonly source: DataSource,
    readonly writer: WriterPool,
    private readonly statementTimeoutMs: number,
    /** Called when the server did not answer in time: its connections may be dead without a sign. */
    private readonly stalled: () => void = () => undefined,
  ) {}

  /** Runs `work` with an entity's repository, bounded in time. */
  of<E extends ObjectLiteral, T>(entity: EntityTarget<E>, work: (repository: Repository<E>) => Promise<T>): Promise<T> {
    return this.bounded(work(this.source.getRepository(entity)));
  }

  /** Text protocol, `IN (?)` expands arrays. BIGINT, DECIMAL and COUNT come as strings, DATETIME as Date. */
  query<T>(sql: string, values: readonly unknown[] = []): Promise<T[]> {
    return this.bounded(this.source.query(sql, values as unknown[]) as Promise<T[]>);
  }

  /**
   * As `query`, for hot paths: each row an array of its columns in their order, without a name and an object for each, and
   * DATETIME as text (`YYYY-MM-DD hh:mm:ss.fff`, UTC). Past TypeORM, on the same pool.
   */
  rows<T extends readonly unknown[]>(sql: string, values: readonly unknown[] = []): Promise<T[]> {
    const { pool } = this.source.driver as unknown as { pool: Pool };
    const options = { sql, values: values as unknown[], rowsAsArray: true, dateStrings: true };
    return this.bounded(
      new Promise<T[]>((resolve, reject) => {
        pool.query(options, (error: unknown, rows: unknown) => {
          if (error) reject(error as Error);
          else resolve(rows as T[]);
        });
      }),
    );
  }

  /**
   * Runs `work` in one transaction and repeats all of it after a deadlock or a lock wait, so it must have no effect
   * outside the database: events are told after this has returned.
   * @throws OpenOutcome when it did not end in time
   */
  async transaction<T>(work: (tx: EntityManager) => Promise<T>): Promise<T> {
    const mark = marked(this.tenant, work);
    for (let attempt = 1; ; attempt += 1) {
      try {
        const running = this.source.transaction(mark.work);
        const ended = running.then(
          () => undefined,
          () => undefined,
        );
        const result = await this.bounded(running, 2, () => new OpenOutcome(ended));
        mark.committed();
        return result;
      } catch (error) {
        if (attempt === TRANSACTION_TRIES || !(isDeadlock(error) || isLockWait(error))) throw error;
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 30 * attempt));
      }
    }
  }

  /**
   * As `transaction`, on a connection whose locks the server ends when its node hangs: for rows that many wait for. It is
   * no request's own: nothing is marked.
   * @throws CommitUnknown when COMMIT was not answered; any other error means that nothing was stored
   */
  async lockingTransaction<T>(work: (tx: Querying) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.writer.committed(work);
      } catch (error) {
        if (attempt === TRANSACTION_TRIES || !(isDeadlock(error) || isLockWait(error))) throw error;
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 30 * attempt));
      }
    }
  }

  /** Distance of the ids that one multi-row INSERT gets; not 1 on servers that share the numbering with others. */
  async autoIncrementStep(): Promise<bigint> {
    this.step ??= this.query<{ step: string | number }>('SELECT @@auto_increment_increment AS step').then(([row]) =>
      BigInt(row.step),
    );
    this.step.catch(() => (this.step = undefined));
    return this.step;
  }

  /** A frozen server answers nothing, not even its own time-outs. */
  private bounded<T>(
    promise: Promise<T>,
    statements = 1,
    late = (): AppError => new AppError('STORAGE_UNAVAILABLE', { retryAfterMs: 1000 }),
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const timer = setTimeout(
        () => {
          this.stalled();
          reject(late());
        },
        this.statementTimeoutMs * statements + 500,
      );
      promise.then(resolve, reject).finally(() => clearTimeout(timer));
    });
  }
}
