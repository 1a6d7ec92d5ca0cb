import { Injectable } from '@nestjs/common';
import { AppError } from '../../platform/errors/app-error.js';
import { Metrics } from '../../platform/observe/metrics.js';
import { CaptchaSecrets, type CaptchaName } from './captcha-secrets.js';
import { CaptchaRedis } from './captcha.redis.js';
import { CaptchaStore, type Verification } from './captcha.store.js';
import { MAX_TRIES, type Scene } from './captcha.types.js';

/** Tries of codes. */
@Injectable()
export class CaptchaTries {
  private readonly results;

  constructor(
    private readonly redis: CaptchaRedis,
    private readonly store: CaptchaStore,
    private readonly secrets: CaptchaSecrets,
    metrics: Metrics,
  ) {
    this.results = metrics.counter('im_captcha_tries_total', 'Tries of a code, by result', ['result']);
  }

  /**
   * @param tokenHash of the action token that becomes good when the code is right
   * @returns what the token is good for
   * @throws AppError for every try that is not the right one
   */
  async attempt(name: CaptchaName, code: string, tokenHash: Buffer): Promise<Scene> {
    // Asked first: without short state no code is tried, and a code that is over is not tried in MySQL again.
    const ended = await this.redis.endState(name);
    if (ended) throw this.refuse(ended === 'locked' ? 'locked' : 'used', MAX_TRIES);
    const codeHash = this.secrets.codeHash(name.tenant, name.id, code);
    const result = await this.store.verify(name, codeHash, { hash: tokenHash, lifeMs: this.redis.lifeMs });
    await this.tell(name, result);
    if (result.outcome !== 'verified') throw this.refuse(result.outcome, result.attempts);
    this.results.inc({ result: 'verified' });
    return result.subject.scene;
  }

  /** Redis learns what MySQL decided. A code that is over is not in force: the next one need not wait for it. */
  private async tell(name: CaptchaName, result: Verification): Promise<void> {
    if (result.outcome !== 'verified' && result.outcome !== 'wrong') return;
    const { outcome, attempts, subject } = result;
    const end = outcome === 'verified' ? 'verified' : attempts >= MAX_TRIES ? 'locked' : null;
    await this.redis.note(name, end, attempts);
    if (end) await this.redis.release(subject, name.id, null);
  }

  private refuse(outcome: Exclude<Verification['outcome'], 'verified'>, attempts: number): AppError {
    this.results.inc({ result: outcome });
    switch (outcome) {
      case 'wrong':
        return attempts < MAX_TRIES
          ? new AppError('CAPTCHA_INVALID')
          : new AppError('CAPTCHA_INVALID', {
              message: 'The code is wrong; that was the last try. Ask for a new one.',
            });
      case 'unknown':
        return new AppError('CAPTCHA_INVALID');
      case 'locked':
        return new AppError('CAPTCHA_LOCKED');
      case 'used':
        return new AppError('TOKEN_USED', { message: 'This code was used already. Ask for a new one.' });
      case 'expired':
      case 'superseded':
        return new AppError('CAPTCHA_EXPIRED');
    }
  }
}
