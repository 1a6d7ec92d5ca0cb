import { Inject, Injectable } from '@nestjs/common';
import { ENV, type Env } from '../../platform/env/env.js';
import { AppError } from '../../platform/errors/app-error.js';
import { ControlDb, CONTROL_SCHEMA } from '../../platform/mysql/control-db.js';
import type { DatabaseSchema } from '../../platform/mysql/data-source-options.js';
import { TENANT_SCHEMA } from '../../platform/mysql/tenant-data-sources.js';
import type { Operator } from '../../platform/http/operator.js';
import { AdminAudit, redacted } from '../audit/audit.service.js';
import { PresenceService } from '../presence/presence.service.js';
import { TenantService } from '../tenant/tenant.service.js';
import type { NewTenant, Tenant, TenantChange } from '../tenant/tenant.types.js';
import type { AuditView, NodesView, TenantView } from './dto/admin.dto.js';

/** Bounds of the waits for the control database, in statements: a new tenant also waits for others and for its migrations. */
const CREATE_STATEMENTS = 60;
const CHANGE_STATEMENTS = 3;

type TenantProvisioning = ReturnType<TenantService['provisioning']>;

/** What an operator does and sees. Every change is audited in its own transaction and counts on all nodes within a second. */
@Injectable()
export class AdminService {
  constructor(
    private readonly control: ControlDb,
    @Inject(CONTROL_SCHEMA) private readonly controlSchema: DatabaseSchema,
    @Inject(TENANT_SCHEMA) private readonly tenantSchema: DatabaseSchema,
    @Inject(ENV) private readonly env: Env,
    private readonly known: TenantService,
    private readonly log: AdminAudit,
    private readonly presence: PresenceService,
  ) {}

  tenants(): TenantView[] {
    return this.known.list().map(viewOf);
  }

  /** @throws AppError TENANT_UNKNOWN */
  tenant(id: string): TenantView {
    const tenant = this.known.list().find((one) => one.id === id);
    if (!tenant) throw new AppError('TENANT_UNKNOWN', { message: `There is no tenant ${id}.` });
    return viewOf(tenant);
  }

  /** @throws AppError VALIDATION_FAILED, CONFLICT, IN_PROGRESS */
  async createTenant(request: NewTenant, by: Operator): Promise<TenantView> {
    const id = await this.provisioning(CREATE_STATEMENTS, (provisioning) => provisioning.create(request, by));
    await this.known.announce();
    return this.tenant(id);
  }

  /** Told to all nodes also when nothing was different: the operator may repeat what a node did not hear. */
  async changeTenant(id: string, change: TenantChange, by: Operator): Promise<TenantView> {
    await this.provisioning(CHANGE_STATEMENTS, (provisioning) => provisioning.change({ id }, change, by));
    await this.known.announce();
    return this.tenant(id);
  }

  reload(): Promise<void> {
    return this.known.announce();
  }

  async audit(beforeId: string | null, limit: number): Promise<AuditView[]> {
    const rows = await this.control.run(({ manager }) => this.log.list(manager, beforeId, limit));
    return rows.map(({ detail, createdAt, ...row }) => ({
      ...row,
      detail: detail === null ? null : (JSON.parse(detail) as object),
      createdAt: createdAt.toISOString(),
    }));
  }

  /** @throws RedisUnavailable */
  async nodes(): Promise<NodesView> {
    return { items: await this.presence.describeNodes(), nodeId: this.presence.nodeId };
  }

  private provisioning<T>(statements: number, work: (provisioning: TenantProvisioning) => Promise<T>): Promise<T> {
    const schemas = { control: this.controlSchema, tenant: this.tenantSchema };
    return this.control.run((source) => work(this.known.provisioning(source, this.env, schemas)), statements);
  }
}

function viewOf({ id, code, name, status, settings, connection }: Tenant): TenantView {
  const database = connection && `${connection.host}:${connection.port}/${connection.database}`;
  return { tenantId: id, code, name, status, settings: redacted(settings) as object, database };
}
