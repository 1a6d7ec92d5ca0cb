import { Injectable } from '@nestjs/common';
import { AppError } from '../../platform/errors/app-error.js';
import { UserService } from '../user/user.service.js';
import type { DeviceInfo, TokenPair } from './auth.types.js';
import { LoginGuard } from './login-guard.js';
import { LoginTokens } from './login-tokens.js';
import { Passwords } from './passwords.js';
import { SessionService } from './session.service.js';

export interface LoginRequest extends DeviceInfo {
  readonly loginToken: string;
  readonly account: string;
  readonly password: string;
}

/** From account and password to a session. */
@Injectable()
export class LoginService {
  constructor(
    private readonly tokens: LoginTokens,
    private readonly users: UserService,
    private readonly passwords: Passwords,
    private readonly sessions: SessionService,
    private readonly guard: LoginGuard,
  ) {}

  /**
   * A wrong account and a wrong password are told by the same answer after the same work.
   * @throws AppError UNAUTHENTICATED, TENANT_DISABLED; RedisUnavailable
   */
  async login(request: LoginRequest, address: string): Promise<TokenPair> {
    const tenant = await this.tokens.tenantOf(request.loginToken);
    const subject = { tenant: tenant.id, account: request.account, address };
    const user = await this.guard.guarded(subject, async () => {
      const found = await this.users.findByAccount(tenant.id, request.account);
      const right = await this.passwords.verify(found?.passwordHash ?? null, request.password);
      return found && right && found.active ? found : null;
    });
    if (!user) {
      throw new AppError('UNAUTHENTICATED', { message: 'Account or password is wrong. Check both and try again.' });
    }
    // A new password that was stored since has ended all sessions: this one must not begin after it.
    return this.sessions.open(tenant.id, user.uid, request, (tx) =>
      this.users.hasPasswordIn(tx, user.uid, user.passwordHash),
    );
  }
}
