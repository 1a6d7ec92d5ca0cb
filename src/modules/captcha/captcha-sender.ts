import { Injectable } from '@nestjs/common';
import { AppError } from '../../platform/errors/app-error.js';
import { addressGroup } from '../../platform/http/client-address.js';
import type { TenantId } from '../../platform/ids/ids.js';
import { Metrics } from '../../platform/observe/metrics.js';
import { RateLimiter, type Use } from '../../platform/redis/rate-limiter.js';
import { SmsService } from '../sms/sms.service.js';
import type { Tenant } from '../tenant/tenant.types.js';
import { CaptchaSecrets, publicId, type CaptchaSubject } from './captcha-secrets.js';
import { CaptchaRedis, type Asker } from './captcha.redis.js';
import { CaptchaStore } from './captcha.store.js';
import type { CaptchaRequest, CaptchaTicket } from './captcha.types.js';
import { normalPhone } from './phone-number.js';

const HOUR_SECONDS = 3_600;
const DAY_SECONDS = 86_400;
/** Codes that one device may ask for an hour. Clients name their devices themselves, so it binds only the honest. */
const PER_DEVICE_HOURLY = 10;

/** A code whose use was counted and which is not in force yet. */
interface Claimed {
  readonly id: string;
  readonly subject: CaptchaSubject;
  readonly asker: Asker;
}

const DAY_BUDGET = ['captcha_day', 'all'] as const;

/** From the request for a code to the message on its way. Everything is counted before it is sent. */
@Injectable()
export class CaptchaSender {
  private readonly results;

  constructor(
    private readonly redis: CaptchaRedis,
    private readonly store: CaptchaStore,
    private readonly secrets: CaptchaSecrets,
    private readonly limiter: RateLimiter,
    private readonly sms: SmsService,
    metrics: Metrics,
  ) {
    this.results = metrics.counter('im_captchas_total', 'Requests for a code, by result', ['scene', 'result']);
  }

  async send(tenant: Tenant, request: CaptchaRequest): Promise<CaptchaTicket> {
    const result = await this.story(tenant, request).catch((error: unknown) => {
      const code = error instanceof AppError ? error.code : 'INTERNAL';
      this.results.inc({ scene: request.scene, result: code });
      throw error;
    });
    this.results.inc({ scene: request.scene, result: result.isNew ? 'sent' : 'active' });
    return result.ticket;
  }

  private async story(tenant: Tenant, request: CaptchaRequest): Promise<{ ticket: CaptchaTicket; isNew: boolean }> {
    // 1. Check
    const phone = normalPhone(request.phone, tenant.settings.phoneCountry);
    const claimed = this.claimOf(tenant, request, phone);
    // 2. Claim: inside the resend window the code in force is the answer.
    const claim = await this.redis.claim(claimed.subject, claimed.id, claimed.asker);
    switch (claim.outcome) {
      case 'active':
        return { ticket: ticketOf(tenant, claim.id, claim.resendMs, claim.lifeMs), isNew: false };
      case 'wait':
      case 'limited':
        throw limited(claim.leftMs);
      case 'claimed':
        break;
    }
    // 3. Write, 4. send, 5. confirm
    const code = this.secrets.newCode();
    const ofDay = await this.write(tenant, request, claimed, code);
    await this.dispatch(claimed, phone, code, ofDay);
    await this.confirm(claimed);
    return { ticket: ticketOf(tenant, claimed.id, this.redis.resendMs, this.redis.lifeMs), isNew: true };
  }

  private claimOf(tenant: Tenant, request: CaptchaRequest, phone: string): Claimed {
    return {
      id: this.secrets.newId(),
      subject: { tenant: tenant.id, scene: request.scene, phoneHash: this.secrets.phoneHash(tenant.id, phone) },
      asker: {
        client: this.secrets.askerHash(tenant.id, request.client),
        address: this.secrets.askerHash(tenant.id, addressGroup(request.address)),
      },
    };
  }

  /**
   * Nothing was sent when this fails: the phone gets its use back, and the tenant's day.
   * @returns the use of the tenant's day
   */
  private async write(tenant: Tenant, request: CaptchaRequest, claimed: Claimed, code: string): Promise<Use> {
    const { id, subject, asker } = claimed;
    let ofDay: Use | null = null;
    try {
      ofDay = await this.takeBudgets(tenant, request);
      const codeHash = this.secrets.codeHash(tenant.id, id, code);
      const lifeMs = this.redis.lifeMs;
      const waitMs = await this.store.create({ id, subject, uid: request.uid ?? null, codeHash, lifeMs });
      if (waitMs !== null) throw limited(waitMs);
      return ofDay;
    } catch (error) {
      await this.redis.release(subject, id, asker.address);
      await this.giveBack(tenant.id, ofDay);
      throw error;
    }
  }

  /**
   * Address and device are counted by the request, whatever becomes of it: refusals of the provider can be provoked, by
   * numbers that are none, and each costs a call of it. The tenant's day bounds the bill, and only what was sent is paid.
   */
  private async takeBudgets(tenant: Tenant, { address, deviceId }: CaptchaRequest): Promise<Use> {
    const take = (what: string, subject: string, most: number, seconds: number): Promise<Use> =>
      this.limiter.take(tenant.id, what, subject, most, seconds);
    const { smsPerAddressHourly, smsPerDay } = tenant.settings;
    await take('captcha_address', addressGroup(address), smsPerAddressHourly, HOUR_SECONDS);
    if (deviceId !== undefined) await take('captcha_device', deviceId, PER_DEVICE_HOURLY, HOUR_SECONDS);
    return take(...DAY_BUDGET, smsPerDay, DAY_SECONDS);
  }

  /** Best effort: what is not given back is there again tomorrow. */
  private async giveBack(tenant: TenantId, ofDay: Use | null): Promise<void> {
    if (ofDay) await this.limiter.giveBack(tenant, ...DAY_BUDGET, ofDay).catch(() => undefined);
  }

  /** A message of unknown outcome may arrive: its code is good, and it counts. */
  private async dispatch({ id, subject, asker }: Claimed, phone: string, code: string, ofDay: Use): Promise<void> {
    try {
      await this.sms.sendCode(subject.tenant, { phone, code });
    } catch (error) {
      await this.redis.release(subject, id, asker.address);
      await this.giveBack(subject.tenant, ofDay);
      // Without it the row stays "created", which is good for nothing either, but counts.
      await this.store.markUnsent({ tenant: subject.tenant, id }).catch(() => undefined);
      throw error;
    }
  }

  private async confirm({ id, subject }: Claimed): Promise<void> {
    const name = { tenant: subject.tenant, id };
    try {
      await this.store.markSent(name, subject);
    } catch (error) {
      // The code that went out will never be good: whoever asks again must not be told that it is in force.
      await this.redis.release(subject, id, null);
      throw error;
    }
    await this.redis.note(name, 'sent', 0);
  }
}

function ticketOf(tenant: Tenant, id: string, resendMs: number, lifeMs: number): CaptchaTicket {
  return {
    captchaId: publicId({ tenant: tenant.id, id }),
    resendAfter: Math.ceil(resendMs / 1000),
    expiresIn: Math.floor(lifeMs / 1000),
  };
}

function limited(retryAfterMs: number): AppError {
  return new AppError('RATE_LIMITED', {
    message: 'No further code can be sent yet. Wait as long as told.',
    retryAfterMs,
  });
}
