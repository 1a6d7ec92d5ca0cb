import { Injectable } from '@nestjs/common';
import { AppError } from '../../platform/errors/app-error.js';
import { AuditService } from '../audit/audit.service.js';
import { CaptchaService } from '../captcha/captcha.service.js';
import { UserService } from '../user/user.service.js';
import { LoginTokens } from './login-tokens.js';
import { Passwords } from './passwords.js';
import { SessionService } from './session.service.js';

export interface ResetRequest {
  readonly loginToken: string;
  /** Of the scene reset. */
  readonly actionToken: string;
  readonly password: string;
}

/** A new password for whoever holds the account's phone. */
@Injectable()
export class PasswordResetService {
  constructor(
    private readonly tokens: LoginTokens,
    private readonly passwords: Passwords,
    private readonly captchas: CaptchaService,
    private readonly users: UserService,
    private readonly sessions: SessionService,
    private readonly audit: AuditService,
  ) {}

  /**
   * Sets the password and ends all sessions of the account: their tokens are void, their sockets are closed on all nodes.
   * @throws AppError UNAUTHENTICATED (token, or no account has this phone), TOKEN_EXPIRED, TOKEN_USED, TENANT_DISABLED,
   * SHORT_STATE_UNAVAILABLE
   */
  async reset(request: ResetRequest): Promise<void> {
    const { id: tenant } = await this.tokens.tenantOf(request.loginToken);
    const passwordHash = await this.passwords.hash(request.password);
    const ended = await this.captchas.spend(tenant, request.actionToken, 'reset', null, async (tx, { phoneHash }) => {
      const uid = await this.users.lockByPhoneIn(tx, phoneHash);
      if (uid === null) return null;
      await this.users.setPasswordIn(tx, uid, passwordHash);
      const sessionIds = await this.sessions.revokeAllIn(tx, uid, 'password_reset');
      await this.audit.record(tx, { actor: uid, action: 'auth.password.reset', target: uid });
      return { uid, sessionIds };
    });
    if (ended === null) {
      throw new AppError('UNAUTHENTICATED', { message: 'No account has this phone. Register first.' });
    }
    await this.sessions.announceEnd(tenant, ended.uid, ended.sessionIds);
  }
}
