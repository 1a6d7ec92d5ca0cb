import { Injectable } from '@nestjs/common';
import { AppError } from '../../platform/errors/app-error.js';
import type { UserId } from '../../platform/ids/ids.js';
import { CaptchaService } from '../captcha/captcha.service.js';
import type { Tenant } from '../tenant/tenant.types.js';
import { UserService } from '../user/user.service.js';
import type { TokenPair } from './auth.types.js';
import { LoginTokens } from './login-tokens.js';
import type { LoginRequest } from './login.service.js';
import { Passwords } from './passwords.js';
import { SessionService } from './session.service.js';

export interface RegisterRequest extends LoginRequest {
  readonly nickname: string;
  /** Of the scene register. The phone that was verified becomes the account's. */
  readonly actionToken?: string;
}

/** People who make their accounts themselves. */
@Injectable()
export class RegistrationService {
  constructor(
    private readonly tokens: LoginTokens,
    private readonly users: UserService,
    private readonly passwords: Passwords,
    private readonly captchas: CaptchaService,
    private readonly sessions: SessionService,
  ) {}

  /**
   * @throws AppError FORBIDDEN when the tenant makes its accounts itself, or wants a verified phone and there is none;
   * CONFLICT (the token stays good for another account name), UNAUTHENTICATED, TOKEN_EXPIRED, TOKEN_USED,
   * SHORT_STATE_UNAVAILABLE
   */
  async register(request: RegisterRequest): Promise<TokenPair> {
    const tenant = await this.tokens.tenantOf(request.loginToken);
    refuseClosed(tenant);
    if (tenant.settings.registrationSms && request.actionToken === undefined) {
      throw new AppError('FORBIDDEN', {
        message: 'This tenant wants a verified phone. Get an actionToken by POST /v1/auth/captchas, scene register.',
      });
    }
    const passwordHash = await this.passwords.hash(request.password);
    const uid = await this.create(tenant, request, passwordHash);
    return this.sessions.open(tenant.id, uid, request);
  }

  private async create(tenant: Tenant, request: RegisterRequest, passwordHash: string): Promise<UserId> {
    const { account, nickname, actionToken } = request;
    if (actionToken === undefined) return this.users.create(tenant.id, { account, nickname, passwordHash });
    const uid = await this.captchas.spend(tenant.id, actionToken, 'register', null, (tx, { phoneHash }) =>
      this.users.createIn(tx, { account, nickname, passwordHash, phoneHash }),
    );
    await this.users.created(tenant.id, uid, account);
    return uid;
  }
}

/** @throws AppError FORBIDDEN */
export function refuseClosed(tenant: Tenant): void {
  if (tenant.settings.registration !== 'open') {
    throw new AppError('FORBIDDEN', { message: 'This tenant makes its accounts itself. Ask its operator for one.' });
  }
}
