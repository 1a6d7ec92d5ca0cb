import { Injectable } from '@nestjs/common';
import { AppError } from '../../platform/errors/app-error.js';
import { CaptchaService } from '../captcha/captcha.service.js';
import type { Tenant } from '../tenant/tenant.types.js';
import { UserService } from '../user/user.service.js';
import type { DeviceInfo, TokenPair } from './auth.types.js';
import { LoginGuard } from './login-guard.js';
import { LoginTokens } from './login-tokens.js';
import type { Attackers } from './login-tries.redis.js';
import { Passwords } from './passwords.js';
import { SessionService } from './session.service.js';

const PROOF_NEEDED =
  'Many log-ins of this account failed. Verify a code (scene login) and send its token as proofToken beside the password.';

export interface LoginRequest extends DeviceInfo {
  readonly loginToken: string;
  readonly account: string;
  readonly password: string;
  /** Action token of the scene login, of any phone: asked for when many have failed on the account. */
  readonly proofToken?: string;
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
    private readonly captchas: CaptchaService,
  ) {}

  /**
   * A wrong account and a wrong password are told by the same answer after the same work.
   * @throws AppError UNAUTHENTICATED, TENANT_DISABLED, RATE_LIMITED, SHORT_STATE_UNAVAILABLE, CAPTCHA_INVALID (a proof is
   * needed), and those of an action token
   */
  async login(request: LoginRequest, address: string): Promise<TokenPair> {
    const tenant = await this.tokens.tenantOf(request.loginToken);
    const subject = { tenant: tenant.id, account: request.account, address };
    const user = await this.guard.guarded(subject, async (attackers) => {
      await this.checkProof(tenant, request, attackers);
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

  /**
   * An account that is guessed at from everywhere: each try then costs a code of any phone, so that its owner gets in and
   * guessing does not pay. Whether the account exists plays no part. Where no codes can be sent nothing is asked for, or
   * a stranger could lock the owner out.
   */
  private async checkProof(tenant: Tenant, request: LoginRequest, attackers: Attackers): Promise<void> {
    const { loginProofAddresses: most } = tenant.settings;
    if (most === 0 || attackers.addresses < most || attackers.isOwnPlace || !this.captchas.canSend(tenant.id)) return;
    if (request.proofToken === undefined) {
      this.guard.proofAsked(tenant.id);
      throw new AppError('CAPTCHA_INVALID', { message: PROOF_NEEDED });
    }
    await this.captchas.spend(tenant.id, request.proofToken, 'login', null, () => Promise.resolve());
  }
}
