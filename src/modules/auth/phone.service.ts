import { Injectable } from '@nestjs/common';
import { AppError } from '../../platform/errors/app-error.js';
import { RateLimiter } from '../../platform/redis/rate-limiter.js';
import type { Actor } from '../../platform/ids/ids.js';
import { AuditService } from '../audit/audit.service.js';
import { CaptchaService } from '../captcha/captcha.service.js';
import { UserService } from '../user/user.service.js';
import { Passwords } from './passwords.js';

/** Tries of the password in a quarter of an hour, before a phone is bound. */
const BIND_TRIES = { most: 5, windowSeconds: 900 } as const;

/** The phone of an account. */
@Injectable()
export class PhoneService {
  constructor(
    private readonly users: UserService,
    private readonly passwords: Passwords,
    private readonly captchas: CaptchaService,
    private readonly limiter: RateLimiter,
    private readonly audit: AuditService,
  ) {}

  /**
   * Makes a verified phone the account's. Whoever holds the phone can set a new password, so a stolen access token alone
   * must not be enough: the password is asked for once more.
   * @throws AppError FORBIDDEN (password), CONFLICT (the phone has an account), RATE_LIMITED, UNAUTHENTICATED,
   * TOKEN_EXPIRED, TOKEN_USED, SHORT_STATE_UNAVAILABLE
   */
  async bind(actor: Actor, actionToken: string, password: string): Promise<void> {
    const { tenant, uid } = actor;
    const { most, windowSeconds } = BIND_TRIES;
    await this.limiter.take(tenant, 'bind_password', uid, most, windowSeconds);
    const user = await this.users.credentials(tenant, uid);
    if (!user?.active || !(await this.passwords.verify(user.passwordHash, password))) {
      throw new AppError('FORBIDDEN', { message: 'The password is wrong. Check it and try again.' });
    }
    await this.captchas.spend(tenant, actionToken, 'bind', uid, async (tx, { phoneHash }) => {
      await this.users.setPhoneIn(tx, uid, phoneHash);
      await this.audit.record(tx, { actor: uid, action: 'auth.phone.bind', target: uid });
    });
  }
}
