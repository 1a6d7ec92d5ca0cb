import { resolveSecret } from '../../platform/env/env.js';
import { asTenantId, type TenantId } from '../../platform/ids/ids.js';
import type { ConnectionInfo } from '../../platform/mysql/connection-info.js';
import type { TenantEntity } from './tenant.entity.js';
import { tenantSettingsSchema, type Tenant, type TenantSettings } from './tenant.types.js';

/** All tenants at one moment. A reload builds a new one, so that nobody sees half of a change. */
export interface TenantSnapshot {
  readonly byId: ReadonlyMap<TenantId, Tenant>;
  readonly byCode: ReadonlyMap<string, Tenant>;
}

export const EMPTY_SNAPSHOT: TenantSnapshot = { byId: new Map(), byCode: new Map() };

export interface SnapshotProblem {
  readonly tenant: string;
  readonly problem: string;
}

/**
 * @param rows all tenants of the control database
 * @param old a row whose settings do not parse keeps those it had
 * @param control the control database's server, for what a row leaves open
 */
export function buildSnapshot(
  rows: readonly TenantEntity[],
  old: TenantSnapshot,
  control: ConnectionInfo,
): { snapshot: TenantSnapshot; problems: SnapshotProblem[] } {
  const byId = new Map<TenantId, Tenant>();
  const byCode = new Map<string, Tenant>();
  const problems: SnapshotProblem[] = [];
  for (const row of rows) {
    const id = asTenantId(row.id);
    const settings = parseSettings(row.settings);
    if (!settings) problems.push({ tenant: id, problem: 'its settings do not parse' });
    const connection = tenantConnection(row, control);
    if (!connection) problems.push({ tenant: id, problem: 'the secret of its database is not in the environment' });
    const tenant: Tenant = {
      id,
      code: row.code,
      name: row.name,
      // Any other word means that somebody wanted it off.
      status: row.status === 'active' ? 'active' : 'disabled',
      settings: settings ?? old.byId.get(id)?.settings ?? tenantSettingsSchema.parse({}),
      connection,
    };
    byId.set(id, tenant);
    byCode.set(tenant.code, tenant);
  }
  return { snapshot: { byId, byCode }, problems };
}

/** Where a tenant's database is; null when its secret cannot be resolved. */
export function tenantConnection(
  row: Pick<TenantEntity, 'dbHost' | 'dbPort' | 'dbUser' | 'dbName' | 'dbSecretRef'>,
  control: ConnectionInfo,
): ConnectionInfo | null {
  const password = row.dbSecretRef === null ? control.password : resolveSecret(row.dbSecretRef);
  if (password === undefined) return null;
  return {
    host: row.dbHost ?? control.host,
    port: row.dbPort ?? control.port,
    user: row.dbUser ?? control.user,
    password,
    database: row.dbName,
  };
}

function parseSettings(text: string): TenantSettings | null {
  try {
    return tenantSettingsSchema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}
