import {
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { ENV, type Env } from '../../platform/env/env.js';
import { AppError } from '../../platform/errors/app-error.js';
import type { TenantId } from '../../platform/ids/ids.js';
import { parseMysqlUrl, type ConnectionInfo } from '../../platform/mysql/connection-info.js';
import { ControlDb } from '../../platform/mysql/control-db.js';
import type { TenantConnections } from '../../platform/mysql/tenant-data-sources.js';
import { Logger } from '../../platform/observe/logger.js';
import { Metrics } from '../../platform/observe/metrics.js';
import { buildSnapshot, EMPTY_SNAPSHOT, type TenantSnapshot } from './tenant-snapshot.js';
import type { Schemas } from '../../platform/platform.module.js';
import { TenantEntity } from './tenant.entity.js';
import { TenantProvisioning } from './tenant.provisioning.js';
import { TenantChanges } from './tenant.redis.js';
import type { Tenant } from './tenant.types.js';

const FIRST_LOAD_RETRY_MS = 500;
const RETRY_MS = 5_000;
/** A node whose control database does not answer for this long after its start gives up; its supervisor starts it again. */
const FIRST_LOAD_TIMEOUT_MS = 60_000;

type DisabledListener = (tenant: TenantId) => void;
/** Reads rows; what it answers takes them over, in the same turn of the event loop as everything else of that reload. */
type Part = (source: DataSource) => Promise<() => void>;

/**
 * The tenants, held in the process: look-ups are synchronous and work while the control database is away. Reloaded
 * every CONFIG_REFRESH_SECONDS, and at once when somebody publishes a change.
 */
@Injectable()
export class TenantService implements TenantConnections, OnModuleInit, OnApplicationBootstrap, OnApplicationShutdown {
  private snapshot: TenantSnapshot = EMPTY_SNAPSHOT;
  private readonly listeners: DisabledListener[] = [];
  private readonly parts: Part[] = [];
  private readonly controlInfo: ConnectionInfo;
  private readonly markReady: () => void;
  private loadedAtMs = 0;
  private running?: Promise<boolean>;
  private again = false;
  private timer?: NodeJS.Timeout;
  private stopped = false;
  private readonly refreshes;

  /** Resolves when the tenants were loaded for the first time. */
  readonly ready: Promise<void>;

  constructor(
    private readonly control: ControlDb,
    private readonly changes: TenantChanges,
    @Inject(ENV) private readonly env: Env,
    private readonly log: Logger,
    metrics: Metrics,
  ) {
    this.controlInfo = parseMysqlUrl(env.MYSQL_URL);
    const { promise, resolve } = withResolvers();
    this.ready = promise;
    this.markReady = resolve;
    this.refreshes = metrics.counter('im_config_refresh_total', 'Reloads of the process configuration', ['result']);
    metrics.observed('im_config_age_seconds', 'Seconds since the configuration was last known to be good', () =>
      this.loadedAtMs === 0 ? -1 : (Date.now() - this.loadedAtMs) / 1000,
    );
  }

  onModuleInit(): void {
    this.changes.listen(() => void this.reload());
    void this.keepFresh();
  }

  async onApplicationBootstrap(): Promise<void> {
    const timer = setTimeout(() => this.stop(), FIRST_LOAD_TIMEOUT_MS);
    while (this.loadedAtMs === 0 && !this.stopped) {
      await Promise.race([this.ready, sleep(FIRST_LOAD_RETRY_MS)]);
    }
    clearTimeout(timer);
    if (this.loadedAtMs === 0) throw new Error('the control database does not answer (MYSQL_URL)');
  }

  onApplicationShutdown(): void {
    this.stop();
  }

  /** The tenant of an enterprise code. @throws AppError TENANT_UNKNOWN, TENANT_DISABLED */
  byCode(code: string): Tenant {
    return usable(this.snapshot.byCode.get(code));
  }

  /** @throws AppError TENANT_UNKNOWN, TENANT_DISABLED */
  get(tenant: TenantId): Tenant {
    return usable(this.snapshot.byId.get(tenant));
  }

  /** All tenants, the disabled ones too. */
  list(): Tenant[] {
    return [...this.snapshot.byId.values()];
  }

  connectionOf(tenant: TenantId): ConnectionInfo {
    const { connection } = this.get(tenant);
    if (!connection) throw new AppError('STORAGE_UNAVAILABLE');
    return connection;
  }

  /** Called once for every tenant that was usable and, after a reload, is not any more. */
  onDisabled(listener: DisabledListener): void {
    this.listeners.push(listener);
  }

  /** What operators do with tenants, over this node's own control database. */
  provisioning(source: DataSource, env: Env, schemas: Schemas): TenantProvisioning {
    return TenantProvisioning.over(source, env, schemas);
  }

  /** More of the control database that is read by every reload; asked for before the first one. */
  also(part: Part): void {
    this.parts.push(part);
  }

  /**
   * After a change of the control database: this node reads it now, the others are told to.
   * @throws AppError STORAGE_UNAVAILABLE when this node could not read it; the change itself stands
   */
  async announce(): Promise<void> {
    const told = this.changes.publish().catch((error: Error) => {
      this.log.warn({ error: error.message }, 'a change could not be told: other nodes see it at their next reload');
    });
    const [loaded] = await Promise.all([this.reload(), told]);
    if (!loaded) throw new AppError('STORAGE_UNAVAILABLE');
  }

  /**
   * Reads the tenants again. Calls that come while a reload runs share one more reload after it: the running one may
   * have read before their change was committed.
   * @returns whether the tenants are now as fresh as asked for
   */
  async reload(): Promise<boolean> {
    if (this.running) {
      this.again = true;
      return this.running;
    }
    this.running = this.reloadUntilQuiet();
    return this.running;
  }

  private async reloadUntilQuiet(): Promise<boolean> {
    for (;;) {
      this.again = false;
      const good = await this.reloadOnce();
      if (this.again && good) continue;
      this.running = undefined;
      return good;
    }
  }

  private async reloadOnce(): Promise<boolean> {
    try {
      const { rows, takes } = await this.control.run(async (source) => ({
        rows: await source.getRepository(TenantEntity).find(),
        takes: await Promise.all(this.parts.map((part) => part(source))),
      }));
      for (const take of takes) take();
      this.take(rows);
      this.refreshes.inc({ result: 'ok' });
      return true;
    } catch (error) {
      if (this.stopped) return false;
      this.refreshes.inc({ result: 'failed' });
      this.log.warn({ error: (error as Error).message }, 'tenants could not be loaded; the old ones stay in force');
      return false;
    }
  }

  private take(rows: TenantEntity[]): void {
    const old = this.snapshot;
    const { snapshot, problems } = buildSnapshot(rows, old, this.controlInfo);
    this.snapshot = snapshot;
    this.loadedAtMs = Date.now();
    this.markReady();
    for (const problem of problems) this.log.warn({ ...problem }, 'a tenant record is not whole');
    for (const tenant of old.byId.values()) {
      if (tenant.status !== 'active' || snapshot.byId.get(tenant.id)?.status === 'active') continue;
      this.log.info({ tenant: tenant.id }, 'tenant disabled');
      for (const listener of this.listeners) listener(tenant.id);
    }
  }

  private async keepFresh(): Promise<void> {
    const loaded = await this.reload();
    if (this.stopped) return;
    const refreshMs = this.env.CONFIG_REFRESH_SECONDS * 1000;
    const retryMs = this.loadedAtMs === 0 ? FIRST_LOAD_RETRY_MS : Math.min(refreshMs, RETRY_MS);
    const jitter = 0.9 + Math.random() * 0.2;
    this.timer = setTimeout(() => void this.keepFresh(), (loaded ? refreshMs : retryMs) * jitter).unref();
  }

  private stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }
}

function usable(tenant: Tenant | undefined): Tenant {
  if (!tenant) throw new AppError('TENANT_UNKNOWN');
  if (tenant.status !== 'active') throw new AppError('TENANT_DISABLED');
  return tenant;
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** `Promise.withResolvers` is not in Node.js 20. */
function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve!: () => void;
  const promise = new Promise<void>((settle) => (resolve = settle));
  return { promise, resolve };
}
