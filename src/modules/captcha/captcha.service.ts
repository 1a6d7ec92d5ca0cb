import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { AppError } from '../../platform/errors/app-error.js';
import type { TenantId, UserId } from '../../platform/ids/ids.js';
import { hashToken, newToken } from '../../platform/ids/opaque-tokens.js';
import { Metrics } from '../../platform/observe/metrics.js';
import { SmsService } from '../sms/sms.service.js';
import type { Tenant } from '../tenant/tenant.types.js';
import { TenantService } from '../tenant/tenant.service.js';
import { ActionTokenRedis } from './action-token.redis.js';
import { ActionTokenStore } from './action-token.store.js';
import { parsePublicId, type CaptchaName } from './captcha-secrets.js';
import { CaptchaSender } from './captcha-sender.js';
import { CaptchaTries } from './captcha-tries.js';
import type { ActionProof, CaptchaRequest, CaptchaTicket, Scene } from './captcha.types.js';

/**
 * Codes by SMS: one is sent, verified once, and what it allowed is done once. MySQL decides every step; Redis limits and
 * spares questions. Without either of them no step is passed.
 */
@Injectable()
export class CaptchaService {
  private readonly spendings;

  constructor(
    private readonly sender: CaptchaSender,
    private readonly tries: CaptchaTries,
    private readonly tokens: ActionTokenStore,
    private readonly copies: ActionTokenRedis,
    private readonly tenants: TenantService,
    private readonly sms: SmsService,
    metrics: Metrics,
  ) {
    this.spendings = metrics.counter('im_action_tokens_total', 'Action tokens shown, by result', ['result']);
  }

  /** Can codes of this tenant be sent at all? Nothing may be made to depend on them where they cannot. */
  canSend(tenant: TenantId): boolean {
    return this.sms.isSetUp(tenant);
  }

  /**
   * Sends a code. Says nothing of whether the phone belongs to anybody: nobody is looked up.
   * @throws AppError VALIDATION_FAILED (phone), RATE_LIMITED, OVERLOADED (not sent), SHORT_STATE_UNAVAILABLE,
   * STORAGE_UNAVAILABLE
   */
  send(tenant: Tenant, request: CaptchaRequest): Promise<CaptchaTicket> {
    return this.sender.send(tenant, request);
  }

  /**
   * One try of a code.
   * @returns an action token: good once, for the scene of the code
   * @throws AppError CAPTCHA_INVALID, CAPTCHA_EXPIRED, CAPTCHA_LOCKED, TOKEN_USED, TENANT_DISABLED,
   * SHORT_STATE_UNAVAILABLE, STORAGE_UNAVAILABLE
   */
  async verify(captchaId: string, code: string): Promise<string> {
    const name = this.nameOf(captchaId);
    const token = newToken(name.tenant);
    const scene = await this.tries.attempt(name, code, hashToken(token));
    await this.copies.note(name.tenant, token, scene);
    return token;
  }

  /**
   * Spends an action token on `work`, in one transaction of the tenant's database: both happen or neither. `work` may be
   * repeated after a deadlock and must have no effect outside of `tx`.
   * @param uid who is logged in; null where nobody is
   * @throws AppError UNAUTHENTICATED (unknown, of another tenant, purpose or user), TOKEN_EXPIRED, TOKEN_USED,
   * SHORT_STATE_UNAVAILABLE, STORAGE_UNAVAILABLE, and what `work` throws
   */
  async spend<T>(
    tenant: TenantId,
    token: string,
    purpose: Scene,
    uid: UserId | null,
    work: (tx: EntityManager, proof: ActionProof) => Promise<T>,
  ): Promise<T> {
    const known = await this.copies.purposeOf(tenant, token);
    if (known !== null && known !== purpose) throw this.refuse('unknown');
    const spent = await this.tokens.spend(tenant, { hash: hashToken(token), purpose, uid }, work);
    if (spent.outcome !== 'spent') throw this.refuse(spent.outcome);
    this.spendings.inc({ result: 'spent' });
    await this.copies.forget(tenant, token);
    return spent.result;
  }

  private refuse(result: 'unknown' | 'used' | 'expired'): AppError {
    this.spendings.inc({ result });
    switch (result) {
      case 'used':
        return new AppError('TOKEN_USED');
      case 'expired':
        return new AppError('TOKEN_EXPIRED', { message: 'The action token has expired. Verify a new code.' });
      case 'unknown':
        return new AppError('UNAUTHENTICATED', { message: 'The action token is not good for this. Verify a code.' });
    }
  }

  private nameOf(captchaId: string): CaptchaName {
    const name = parsePublicId(captchaId);
    if (!name) throw new AppError('CAPTCHA_INVALID');
    try {
      this.tenants.get(name.tenant);
    } catch (error) {
      throw error instanceof AppError && error.code === 'TENANT_UNKNOWN' ? new AppError('CAPTCHA_INVALID') : error;
    }
    return name;
  }
}
