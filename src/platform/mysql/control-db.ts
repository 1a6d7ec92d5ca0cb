import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { ENV, type Env } from '../env/env.js';
import { parseMysqlUrl } from './connection-info.js';
import type { DatabaseSchema } from './data-source-options.js';
import { openDataSource, probeFlavor } from './open-data-source.js';

/** DI token of the control database's tables and migrations. */
export const CONTROL_SCHEMA = Symbol('CONTROL_SCHEMA');

/** The control database: tenants, configuration, audit. Opened on first use; a failed opening is tried again by the next. */
@Injectable()
export class ControlDb implements OnApplicationShutdown {
  private opening?: Promise<DataSource>;

  constructor(
    @Inject(ENV) private readonly env: Env,
    @Inject(CONTROL_SCHEMA) private readonly schema: DatabaseSchema,
  ) {}

  source(): Promise<DataSource> {
    this.opening ??= this.open().catch((error: unknown) => {
      this.opening = undefined;
      throw error;
    });
    return this.opening;
  }

  /** Does the control database answer? Bounded in time. */
  async isUp(timeoutMs: number): Promise<boolean> {
    const query = this.source().then((source) => source.query('SELECT 1'));
    query.catch(() => undefined);
    const timeout = new Promise<false>((resolve) => setTimeout(resolve, timeoutMs, false).unref());
    return Promise.race([query.then(() => true), timeout]).catch(() => false);
  }

  async onApplicationShutdown(): Promise<void> {
    const source = await this.opening?.catch(() => undefined);
    if (source?.isInitialized) await source.destroy();
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
