import { Injectable } from '@nestjs/common';
import { AppError } from '../../platform/errors/app-error.js';
import { TenantService } from '../tenant/tenant.service.js';
import type { Tenant } from '../tenant/tenant.types.js';
import { UserService } from '../user/user.service.js';
import { AuthRedis } from './auth.redis.js';
import type { DeviceInfo, LoginTicket, TokenPair } from './auth.types.js';
import { newToken, tenantOfToken } from './opaque-tokens.js';
import { LoginGuard } from './login-guard.js';
import { Passwords } from './passwords.js';
import { SessionService } from './session.service.js';

export interface LoginRequest extends DeviceInfo {
  readonly loginToken: string;
  readonly account: string;
  readonly password: string;
}

export interface RegisterRequest extends LoginRequest {
  readonly nickname: string;
}

/** From an enterprise code to a session. */
@Injectable()
export class LoginService {
  constructor(
    private readonly tenants: TenantService,
    private readonly users: UserService,
    private readonly passwords: Passwords,
    private readonly redis: AuthRedis,
    private readonly sessions: SessionService,
    private readonly guard: LoginGuard,
  ) {}

  /** @throws AppError TENANT_UNKNOWN, TENANT_DISABLED; RedisUnavailable */
  async enterprise(code: string): Promise<LoginTicket> {
    const tenant = this.tenants.byCode(code);
    const loginToken = newToken(tenant.id);
    const expiresIn = await this.redis.saveLoginToken(tenant.id, loginToken);
    return { tenantId: tenant.id, tenantName: tenant.name, loginToken, expiresIn };
  }

  /**
   * A wrong account and a wrong password are told by the same answer after the same work.
   * @throws AppError UNAUTHENTICATED, TENANT_DISABLED; RedisUnavailable
   */
  async login(request: LoginRequest, address: string): Promise<TokenPair> {
    const tenant = await this.tenantOf(request.loginToken);
    const subject = { tenant: tenant.id, account: request.account, address };
    const user = await this.guard.guarded(subject, async () => {
      const found = await this.users.findByAccount(tenant.id, request.account);
      const right = await this.passwords.verify(found?.passwordHash ?? null, request.password);
      return found && right && found.active ? found : null;
    });
    if (!user) {
      throw new AppError('UNAUTHENTICATED', { message: 'Account or password is wrong. Check both and try again.' });
    }
    return this.sessions.open(tenant.id, user.uid, request);
  }

  /** @throws AppError FORBIDDEN when the tenant makes its accounts itself, CONFLICT, UNAUTHENTICATED; RedisUnavailable */
  async register(request: RegisterRequest): Promise<TokenPair> {
    const tenant = await this.tenantOf(request.loginToken);
    if (tenant.settings.registration !== 'open') {
      throw new AppError('FORBIDDEN', { message: 'This tenant makes its accounts itself. Ask its operator for one.' });
    }
    const { account, nickname } = request;
    const passwordHash = await this.passwords.hash(request.password);
    const uid = await this.users.create(tenant.id, { account, nickname, passwordHash });
    return this.sessions.open(tenant.id, uid, request);
  }

  /** The login token, not the client, says which tenant is meant. */
  private async tenantOf(loginToken: string): Promise<Tenant> {
    const tenant = tenantOfToken(loginToken);
    if (!tenant || !(await this.redis.isLoginToken(tenant, loginToken))) {
      throw new AppError('UNAUTHENTICATED', {
        message: 'The login token is wrong or has expired. Get a new one by POST /v1/auth/enterprise.',
      });
    }
    return this.tenants.get(tenant);
  }
}
