import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { ENV, type Env } from '../env/env.js';
import { AppError } from '../errors/app-error.js';
import type { TenantId } from '../ids/ids.js';
import { Logger } from '../observe/logger.js';
import { Metrics } from '../observe/metrics.js';
import type { ConnectionInfo } from './connection-info.js';
import type { DatabaseSchema } from './data-source-options.js';
import { openDataSource, probeFlavor } from './open-data-source.js';
import { proveSharedLocks } from './shared-lock-check.js';
import { TenantDb } from './tenant-db.js';
import { WriterPool } from './writer-pool.js';

/** Where a tenant's database is; provided by the module that owns the tenants. */
export abstract class TenantConnections {
  /** @throws AppError TENANT_UNKNOWN or TENANT_DISABLED */
  abstract connectionOf(tenant: TenantId): ConnectionInfo;
}

/** DI token of the tenant tables and migrations. */
export const TENANT_SCHEMA = Symbol('TENANT_SCHEMA');

interface Entry {
  readonly opening: Promise<TenantDb>;
  readonly info: ConnectionInfo;
  users: number;
  lastUsedMs: number;
  /** Set when opening failed: until then callers get the same error at once. */
  failedUntilMs: number;
  closing: boolean;
}

/** Writer connections a tenant: two shards, a tombstone, a rebase, and four commits of private chats. */
const WRITER_CONNECTIONS = 8;
const IDLE_CLOSE_MS = 10 * 60_000;
const SWEEP_MS = 30_000;
/** A node that hangs in a transaction holds up others so long at most: longer than any request, twice a node's lease. */
const SILENT_SECONDS = 30;
const CLOSE_WAIT_MS = 5_000;
/** A tenant whose database is down is asked again after this long, not by every call. */
const RETRY_AFTER_FAILURE_MS = 1_000;

/**
 * One TypeORM DataSource and one writer pool per tenant: opened lazily and once however many ask, closed when idle for
 * ten minutes, bounded in total. A broken tenant fails its own calls, fast, and nobody else's.
 */
@Injectable()
export class TenantDataSources implements OnModuleInit, OnApplicationShutdown {
  private readonly entries = new Map<TenantId, Entry>();
  private readonly maxOpen: number;
  private sweeper?: NodeJS.Timeout;

  constructor(
    private readonly connections: TenantConnections,
    @Inject(TENANT_SCHEMA) private readonly schema: DatabaseSchema,
    @Inject(ENV) private readonly env: Env,
    private readonly log: Logger,
    metrics: Metrics,
  ) {
    this.maxOpen = Math.max(1, Math.floor(env.MYSQL_CONNECTIONS_MAX / (env.MYSQL_POOL_SIZE + WRITER_CONNECTIONS)));
    const open = metrics.gauge('im_tenant_databases_open', 'Tenant databases that this node has open');
    open.set(0);
    this.reportOpen = () => open.set(this.entries.size);
  }

  private readonly reportOpen: () => void;

  onModuleInit(): void {
    this.sweeper = setInterval(() => this.closeIdle(), SWEEP_MS).unref();
  }

  /**
   * Lends the tenant's database to `work`; it stays open at least until `work` has ended.
   * @throws AppError TENANT_UNKNOWN, TENANT_DISABLED, STORAGE_UNAVAILABLE (cannot be opened), OVERLOADED (too many open)
   */
  async run<T>(tenant: TenantId, work: (db: TenantDb) => Promise<T>): Promise<T> {
    const entry = this.entryOf(tenant, this.connections.connectionOf(tenant));
    entry.users += 1;
    entry.lastUsedMs = Date.now();
    try {
      return await work(await entry.opening);
    } finally {
      entry.users -= 1;
      entry.lastUsedMs = Date.now();
      if (entry.closing && entry.users === 0) void this.close(entry);
    }
  }

  /** Closes a tenant's pools as soon as nobody uses them; calls that come later open anew. */
  drop(tenant: TenantId): void {
    const entry = this.entries.get(tenant);
    if (!entry) return;
    this.entries.delete(tenant);
    this.reportOpen();
    entry.closing = true;
    if (entry.users === 0) void this.close(entry);
  }

  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.sweeper);
    const entries = [...this.entries.values()];
    this.entries.clear();
    // A database that does not answer must not keep the process from ending.
    const bound = new Promise((resolve) => setTimeout(resolve, CLOSE_WAIT_MS).unref());
    await Promise.race([Promise.all(entries.map((entry) => this.close(entry))), bound]);
  }

  private entryOf(tenant: TenantId, info: ConnectionInfo): Entry {
    const known = this.entries.get(tenant);
    if (known && known.failedUntilMs !== 0 && Date.now() > known.failedUntilMs) this.drop(tenant);
    else if (known && sameServer(known.info, info)) return known;
    else if (known) this.drop(tenant);
    this.makeRoom();
    const entry: Entry = {
      opening: this.open(tenant, info),
      info,
      users: 0,
      lastUsedMs: Date.now(),
      failedUntilMs: 0,
      closing: false,
    };
    entry.opening.catch(() => (entry.failedUntilMs = Date.now() + RETRY_AFTER_FAILURE_MS));
    this.entries.set(tenant, entry);
    this.reportOpen();
    return entry;
  }

  private async open(tenant: TenantId, info: ConnectionInfo): Promise<TenantDb> {
    const { MYSQL_CONNECT_TIMEOUT_MS, MYSQL_POOL_SIZE, MYSQL_STATEMENT_TIMEOUT_MS } = this.env;
    const limits = {
      connections: MYSQL_POOL_SIZE,
      connectTimeoutMs: MYSQL_CONNECT_TIMEOUT_MS,
      statementTimeoutMs: MYSQL_STATEMENT_TIMEOUT_MS,
    };
    try {
      const flavor = await probeFlavor(info, MYSQL_CONNECT_TIMEOUT_MS);
      const source = await openDataSource(flavor, info, this.schema, { ...limits, silentSeconds: SILENT_SECONDS });
      const writer = new WriterPool(flavor, info, { ...limits, connections: WRITER_CONNECTIONS });
      await proveSharedLocks(writer).catch(async (error: unknown) => {
        await Promise.allSettled([writer.close(), source.destroy()]);
        throw error;
      });
      // Connections that answer nothing are left behind with their pool; the next call opens anew.
      const stalled = (): void => {
        if (this.entries.get(tenant)?.info === info) this.drop(tenant);
      };
      return new TenantDb(tenant, flavor, source, writer, MYSQL_STATEMENT_TIMEOUT_MS, stalled);
    } catch (error) {
      this.log.error({ tenant, error: (error as Error).message }, 'tenant database cannot be opened');
      throw new AppError('STORAGE_UNAVAILABLE', { cause: error, retryAfterMs: RETRY_AFTER_FAILURE_MS });
    }
  }

  /** Closes the tenant idle for longest when the bound is reached. */
  private makeRoom(): void {
    if (this.entries.size < this.maxOpen) return;
    const idle = [...this.entries].filter(([, entry]) => entry.users === 0);
    idle.sort(([, a], [, b]) => a.lastUsedMs - b.lastUsedMs);
    if (idle.length === 0) throw new AppError('OVERLOADED', { retryAfterMs: 1000 });
    this.drop(idle[0][0]);
  }

  private closeIdle(): void {
    const before = Date.now() - IDLE_CLOSE_MS;
    for (const [tenant, entry] of this.entries) {
      if (entry.users === 0 && entry.lastUsedMs < before) this.drop(tenant);
    }
  }

  private async close(entry: Entry): Promise<void> {
    const db = await entry.opening.catch(() => null);
    if (!db) return;
    await Promise.allSettled([db.writer.close(), db.source.isInitialized ? db.source.destroy() : undefined]);
  }
}

function sameServer(a: ConnectionInfo, b: ConnectionInfo): boolean {
  return (
    a.host === b.host &&
    a.port === b.port &&
    a.user === b.user &&
    a.password === b.password &&
    a.database === b.database
  );
}
