import { Inject, Injectable } from '@nestjs/common';
import { ENV, type Env } from '../../platform/env/env.js';
import { AppError, invalid } from '../../platform/errors/app-error.js';
import type { TenantId } from '../../platform/ids/ids.js';
import { Logger } from '../../platform/observe/logger.js';
import { Metrics } from '../../platform/observe/metrics.js';
import { AliyunSms } from './aliyun-sms.js';
import { ConsoleSms } from './console-sms.js';
import { SmsRefused, type SmsCode, type SmsOutcome, type SmsProvider } from './sms.types.js';

const RETRY_AFTER_MS = 10_000;

/** Sends verification codes through the provider that the settings name. */
@Injectable()
export class SmsService {
  private readonly provider: SmsProvider | null;
  private readonly results;
  private readonly seconds;

  constructor(
    @Inject(ENV) env: Env,
    private readonly log: Logger,
    metrics: Metrics,
  ) {
    this.results = metrics.counter('im_sms_total', 'Text messages handed to a provider', ['provider', 'result']);
    this.seconds = metrics.histogram('im_sms_seconds', 'Time of a call to the SMS provider', ['provider']);
    this.provider = providerOf(env);
    if (!this.provider) log.warn({ provider: env.SMS_PROVIDER }, 'no SMS provider is set up: no codes can be sent');
  }

  /**
   * One call of the provider; nothing is repeated.
   * @throws AppError when it was certainly not sent: VALIDATION_FAILED (phone), RATE_LIMITED, OVERLOADED
   */
  async sendCode(tenant: TenantId, message: SmsCode): Promise<SmsOutcome> {
    if (!this.provider) throw unavailable();
    const { name } = this.provider;
    const stop = this.seconds.startTimer({ provider: name });
    try {
      const outcome = await this.provider.send(message);
      this.results.inc({ provider: name, result: outcome });
      if (outcome === 'unknown') this.log.warn({ tenant, provider: name }, 'an SMS has an unknown outcome');
      return outcome;
    } catch (error) {
      if (!(error instanceof SmsRefused)) throw error;
      this.results.inc({ provider: name, result: error.reason });
      this.log.warn({ tenant, provider: name, reason: error.reason, error: error.message }, 'an SMS was not sent');
      throw toAppError(error);
    } finally {
      stop();
    }
  }
}

function providerOf(env: Env): SmsProvider | null {
  switch (env.SMS_PROVIDER) {
    case 'console':
      // Whoever reads the log of a production system must not log in as its users.
      return env.NODE_ENV === 'production' ? null : new ConsoleSms();
    case 'aliyun':
      return new AliyunSms({
        endpoint: env.SMS_ALIYUN_ENDPOINT,
        accessKeyId: env.SMS_ALIYUN_ACCESS_KEY_ID,
        accessKeySecret: env.SMS_ALIYUN_ACCESS_KEY_SECRET,
        signName: env.SMS_ALIYUN_SIGN_NAME,
        templateCode: env.SMS_ALIYUN_TEMPLATE_CODE,
        timeoutMs: env.SMS_TIMEOUT_MS,
      });
    case 'off':
      return null;
  }
}

function toAppError(error: SmsRefused): AppError {
  switch (error.reason) {
    case 'number':
      return invalid('phone', 'cannot be reached by SMS');
    case 'limited':
      return new AppError('RATE_LIMITED', {
        message: 'This phone has been sent too many messages. Wait and try again.',
        retryAfterMs: 60_000,
        cause: error,
      });
    case 'setup':
    case 'unavailable':
      return unavailable(error);
  }
}

function unavailable(cause?: unknown): AppError {
  const message = 'The message could not be sent. Try again in a moment.';
  return new AppError('OVERLOADED', { message, retryAfterMs: RETRY_AFTER_MS, cause });
}
