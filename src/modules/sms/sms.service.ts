import { Injectable } from '@nestjs/common';
import { AppError, invalid } from '../../platform/errors/app-error.js';
import type { TenantId } from '../../platform/ids/ids.js';
import { Logger } from '../../platform/observe/logger.js';
import { Metrics } from '../../platform/observe/metrics.js';
import { SmsProviders } from './sms-providers.js';
import { SmsRefused, type SmsCode, type SmsOutcome, type SmsProvider } from './sms.types.js';

const RETRY_AFTER_MS = 10_000;

/** Sends verification codes. */
@Injectable()
export class SmsService {
  private readonly results;
  private readonly seconds;

  constructor(
    private readonly providers: SmsProviders,
    private readonly log: Logger,
    metrics: Metrics,
  ) {
    this.results = metrics.counter('im_sms_total', 'Text messages handed to a provider', ['provider', 'result']);
    this.seconds = metrics.histogram('im_sms_seconds', 'Time of a call to the SMS provider', ['provider']);
  }

  /** Has the tenant a provider at all? */
  isSetUp(tenant: TenantId): boolean {
    try {
      return this.providers.of(tenant) !== null;
    } catch (error) {
      if (error instanceof SmsRefused) return false;
      throw error;
    }
  }

  /**
   * One call of the tenant's provider; nothing is repeated.
   * @throws AppError when it was certainly not sent: VALIDATION_FAILED (phone), RATE_LIMITED, OVERLOADED
   */
  async sendCode(tenant: TenantId, message: SmsCode): Promise<SmsOutcome> {
    let name = 'none';
    try {
      const provider = this.providers.of(tenant);
      name = provider.name;
      const outcome = await this.timed(provider, message);
      this.results.inc({ provider: name, result: outcome });
      if (outcome === 'unknown') this.log.warn({ tenant, provider: name }, 'an SMS has an unknown outcome');
      return outcome;
    } catch (error) {
      if (!(error instanceof SmsRefused)) throw error;
      this.results.inc({ provider: name, result: error.reason });
      this.log.warn({ tenant, provider: name, reason: error.reason, error: error.message }, 'an SMS was not sent');
      throw toAppError(error);
    }
  }

  private async timed(provider: SmsProvider, message: SmsCode): Promise<SmsOutcome> {
    const stop = this.seconds.startTimer({ provider: provider.name });
    try {
      return await provider.send(message);
    } finally {
      stop();
    }
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
      return new AppError('OVERLOADED', {
        message: 'The message could not be sent. Try again in a moment.',
        retryAfterMs: RETRY_AFTER_MS,
        cause: error,
      });
  }
}
