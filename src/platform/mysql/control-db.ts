import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { ENV, type Env } from '../env/env.js';
import { AppError } from '../errors/app-error.js';
import { parseMysqlUrl } from './connection-info.js';
import type { DatabaseSchema } from './data-source-options.js';
import { openDataSource, probeFlavor } from './open-data-source.js';

/** DI token of the control database's tables and migrations. */
export const CONTROL_SCHEMA = Symbol('CONTROL_SCHEMA');

/** Over what every wait for the server's own time-outs gets. */
const GRACE_MS = 500;
/** Connections of a pool that was left behind may still be in use by work that began before. */
const LINGER_MS = 30_000;
const CLOSE_WAIT_MS = 2_000;

/** The control database: tenants, configuration, audit. Opened on first use; a failed opening is tried again by the next. */
@Injectable()
export class ControlDb implements OnApplicationShutdown {
  private opening?: Promise<DataSource>;
  private readonly left = new Set<Promise<DataSource>>();

  constructor(
    @Inject(ENV) private readonly env: Env,
    @Inject(CONTROL_SCHEMA) private readonly schema: DatabaseSchema,
  ) {}

  /**
   * Lends the control database to `work`, bounded in time: a frozen server answers nothing, not even its own time-outs.
   * Its connections are then left behind, and the next call opens anew.
   * @param statements how many statements one after the other `work` may take, each as long as the server lets it
   * @throws AppError STORAGE_UNAVAILABLE when it did not end in time; what it wrote may still be committed
   */
  run<T>(work: (source: DataSource) => Promise<T>, statements = 2): Promise<T> {
    const opening = this.source();
    const boundMs = this.env.MYSQL_STATEMENT_TIMEOUT_MS * statements + GRACE_MS;
    return new Promise<T>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.leave(opening);
        reject(new AppError('STORAGE_UNAVAILABLE', { retryAfterMs: 1000 }));
      }, boundMs);
      opening
        .then(work)
        .then(resolve, reject)
        .finally(() => clearTimeout(timer));
    });
  }

  /** Does the control database answer? Bounded in time. */
  async isUp(timeoutMs: number): Promise<boolean> {
    const query = this.run((source) => source.query('SELECT 1'), 1).then(
      () => true,
      () => false,
    );
    const timeout = new Promise<false>((resolve) => setTimeout(resolve, timeoutMs, false).unref());
    return Promise.race([query, timeout]);
  }

  async onApplicationShutdown(): Promise<void> {
    const openings = [...this.left, ...(this.opening ? [this.opening] : [])];
    // A database that does not answer must not keep the process from ending.
    const bound = new Promise((resolve) => setTimeout(resolve, CLOSE_WAIT_MS).unref());
    await Promise.race([Promise.all(openings.map((opening) => close(opening))), bound]);
  }

  /** The present connections, without a bound: `run` is what requests take. */
  source(): Promise<DataSource> {
    if (!this.opening) {
      const opening = this.open();
      opening.catch(() => this.forget(opening));
      this.opening = opening;
    }
    return this.opening;
  }

  private leave(opening: Promise<DataSource>): void {
    if (!this.forget(opening)) return;
    this.left.add(opening);
    setTimeout(() => void close(opening).finally(() => this.left.delete(opening)), LINGER_MS).unref();
  }

  private forget(opening: Promise<DataSource>): boolean {
    if (this.opening !== opening) return false;
    this.opening = undefined;
    return true;
  }

  private async open(): Promise<DataSource> {
    const info = parseMysqlUrl(this.env.MYSQL_URL);
    const flavor = await probeFlavor(info, this.env.MYSQL_CONNECT_TIMEOUT_MS);
    return openDataSource(flavor, info, this.schema, {
      connections: 4,
      connectTimeoutMs: this.env.MYSQL_CONNECT_TIMEOUT_MS,
      statementTimeoutMs: this.env.MYSQL_STATEMENT_TIMEOUT_MS,
    });
  }
}

async function close(opening: Promise<DataSource>): Promise<void> {
  const source = await opening.catch(() => null);
  if (source?.isInitialized) await source.destroy().catch(() => undefined);
}
