import { Injectable } from '@nestjs/common';
import { AppError } from '../../platform/errors/app-error.js';
import { newToken, tenantOfToken } from '../../platform/ids/opaque-tokens.js';
import { TenantService } from '../tenant/tenant.service.js';
import type { Tenant } from '../tenant/tenant.types.js';
import { AuthRedis } from './auth.redis.js';
import type { LoginTicket } from './auth.types.js';

/**
 * Login tokens: what an enterprise code is exchanged for, and what says which tenant a login is for. They live in Redis
 * alone, so that all of them fail closed with it.
 */
@Injectable()
export class LoginTokens {
  constructor(
    private readonly tenants: TenantService,
    private readonly redis: AuthRedis,
  ) {}

  /** @throws AppError TENANT_UNKNOWN, TENANT_DISABLED, SHORT_STATE_UNAVAILABLE */
  async issue(code: string): Promise<LoginTicket> {
    const tenant = this.tenants.byCode(code);
    const loginToken = newToken(tenant.id);
    const expiresIn = await this.redis.saveLoginToken(tenant.id, loginToken);
    return { tenantId: tenant.id, tenantName: tenant.name, loginToken, expiresIn };
  }

  /**
   * The login token, not the client, says which tenant is meant.
   * @throws AppError UNAUTHENTICATED, TENANT_DISABLED, SHORT_STATE_UNAVAILABLE
   */
  async tenantOf(loginToken: string): Promise<Tenant> {
    const tenant = tenantOfToken(loginToken);
    if (!tenant || !(await this.redis.isLoginToken(tenant, loginToken))) {
      throw new AppError('UNAUTHENTICATED', {
        message: 'The login token is wrong or has expired. Get a new one by POST /v1/auth/enterprise.',
      });
    }
    return this.tenants.get(tenant);
  }
}
