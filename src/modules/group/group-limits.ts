import { Injectable } from '@nestjs/common';
import type { TenantId } from '../../platform/ids/ids.js';
import { TenantService } from '../tenant/tenant.service.js';

const DEFAULT_MAX_MEMBERS = 10_000;

/** What a tenant allows; from its settings where they say something usable. */
@Injectable()
export class GroupLimits {
  constructor(private readonly tenants: TenantService) {}

  /** Most members of one group (tenant setting `maxGroupMembers`). */
  maxMembers(tenant: TenantId): number {
    const wanted = (this.tenants.get(tenant).settings as Record<string, unknown>).maxGroupMembers;
    return typeof wanted === 'number' && Number.isInteger(wanted) && wanted > 0 ? wanted : DEFAULT_MAX_MEMBERS;
  }
}
