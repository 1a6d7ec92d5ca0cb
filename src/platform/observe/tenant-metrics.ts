import { Inject, Injectable } from '@nestjs/common';
import { ENV, type Env } from '../env/env.js';
import type { TenantId } from '../ids/ids.js';
import { Metrics } from './metrics.js';

/**
 * Metrics of single tenants: of those that METRICS_TENANTS lists, since each one multiplies the number of series. Of the
 * others nothing is counted here.
 */
@Injectable()
export class TenantMetrics {
  private readonly listed: ReadonlySet<string>;
  private readonly sends;
  private readonly logins;
  private readonly connections;

  constructor(@Inject(ENV) env: Pick<Env, 'METRICS_TENANTS'>, metrics: Metrics) {
    this.listed = new Set(env.METRICS_TENANTS);
    this.sends = metrics.counter('im_tenant_sends_total', 'Sends of a listed tenant by result', ['tenant', 'result']);
    this.logins = metrics.counter('im_tenant_logins_total', 'Log-ins by password of a listed tenant, by outcome', [
      'tenant',
      'result',
    ]);
    this.connections = metrics.gauge('im_tenant_connections', 'Sockets of a listed tenant on this node', ['tenant']);
    for (const tenant of this.listed) this.connections.set({ tenant }, 0);
  }

  /** @param result `stored`, `duplicate`, or the error code */
  sent(tenant: TenantId, result: string): void {
    if (this.listed.has(tenant)) this.sends.inc({ tenant, result });
  }

  /** @param result as `im_logins_total` has it */
  loggedIn(tenant: TenantId, result: string): void {
    if (this.listed.has(tenant)) this.logins.inc({ tenant, result });
  }

  /** A socket came (1) or went (-1). */
  connected(tenant: TenantId, change: 1 | -1): void {
    if (this.listed.has(tenant)) this.connections.inc({ tenant }, change);
  }
}
