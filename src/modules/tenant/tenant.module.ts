import { Global, Module } from '@nestjs/common';
import { TenantConnections, TenantDataSources } from '../../platform/mysql/tenant-data-sources.js';
import { TenantChanges } from './tenant.redis.js';
import { TenantService } from './tenant.service.js';

/** Global: every module that has tables asks `TenantDataSources`. */
@Global()
@Module({
  providers: [
    TenantChanges,
    TenantService,
    { provide: TenantConnections, useExisting: TenantService },
    TenantDataSources,
  ],
  exports: [TenantService, TenantConnections, TenantDataSources],
})
export class TenantModule {
  // Wired here: the data sources know the tenants already, the tenants must not know them.
  constructor(tenants: TenantService, sources: TenantDataSources) {
    tenants.onDisabled((tenant) => sources.drop(tenant));
  }
}
