import { Injectable } from '@nestjs/common';
import { AppError } from '../../platform/errors/app-error.js';
import { CaptchaService } from '../captcha/captcha.service.js';
import { UserService } from '../user/user.service.js';
import type { DeviceInfo, TokenPair } from './auth.types.js';
import { LoginTokens } from './login-tokens.js';
import { SessionService } from './session.service.js';

export interface CodeLoginRequest extends DeviceInfo {
  readonly loginToken: string;
  /** Of the scene login. */
  readonly actionToken: string;
}

/** From a verified phone to a session. */
@Injectable()
export class CodeLoginService {
  constructor(
    private readonly tokens: LoginTokens,
    private readonly users: UserService,
    private readonly captchas: CaptchaService,
    private readonly sessions: SessionService,
  ) {}

  /**
   * Only who has just proved that the phone is his is told that it belongs to no account.
   * @throws AppError UNAUTHENTICATED, TOKEN_EXPIRED, TOKEN_USED, TENANT_DISABLED; RedisUnavailable
   */
  async login(request: CodeLoginRequest): Promise<TokenPair> {
    const { id } = await this.tokens.tenantOf(request.loginToken);
    const uid = await this.captchas.spend(id, request.actionToken, 'login', null, (tx, proof) =>
      this.users.lockByPhoneIn(tx, proof.phoneHash),
    );
    if (uid === null) {
      throw new AppError('UNAUTHENTICATED', { message: 'No account may log in with this phone. Register first.' });
    }
    return this.sessions.open(id, uid, request);
  }
}
