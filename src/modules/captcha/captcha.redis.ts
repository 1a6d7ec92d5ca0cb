import { Inject, Injectable } from '@nestjs/common';
import { ENV, type Env } from '../../platform/env/env.js';
import { RedisKeys } from '../../platform/redis/keys.js';
import { loadScript, RedisScripts } from '../../platform/redis/redis-scripts.js';
import type { CaptchaName, CaptchaSubject } from './captcha-secrets.js';

const CLAIM = loadScript(__dirname, 'claim');
const RELEASE = loadScript(__dirname, 'release');
const NOTE = loadScript(__dirname, 'note');

/** After a code the next one has to wait, ms. */
export const RESEND_WINDOW_MS = 60_000;
/** Codes that one phone gets per scene and hour; one address may use only a part, so that a stranger cannot use them up. */
export const QUOTA = { most: 5, perAddress: 2, windowMs: 3_600_000 } as const;

export interface Asker {
  /** Hashes; see CaptchaSecrets.askerHash. */
  readonly client: string;
  readonly address: string;
}

export type Claim =
  | { readonly outcome: 'claimed' }
  /** A code is on its way already, asked for by the same client. */
  | { readonly outcome: 'active'; readonly id: string; readonly resendMs: number; readonly lifeMs: number }
  | { readonly outcome: 'wait' | 'limited'; readonly leftMs: number };

/** States that end a code; kept in Redis so that further tries do not reach MySQL. */
export type EndState = 'locked' | 'verified';

/**
 * Short state of codes: limits, the resend window, and copies of what MySQL has decided. Every question is a security step
 * and fails closed; copies are best effort.
 */
@Injectable()
export class CaptchaRedis {
  readonly lifeMs: number;

  constructor(
    private readonly keys: RedisKeys,
    private readonly scripts: RedisScripts,
    @Inject(ENV) env: Pick<Env, 'SHORT_STATE_TTL_SECONDS'>,
  ) {
    this.lifeMs = env.SHORT_STATE_TTL_SECONDS * 1000;
  }

  get resendMs(): number {
    return Math.min(RESEND_WINDOW_MS, this.lifeMs);
  }

  /** @throws AppError SHORT_STATE_UNAVAILABLE */
  async claim(subject: CaptchaSubject, id: string, asker: Asker): Promise<Claim> {
    const { most, perAddress, windowMs } = QUOTA;
    const args = [id, asker.client, asker.address, this.lifeMs, this.resendMs, most, perAddress, windowMs];
    const reply = (await this.scripts.run(CLAIM, this.subjectKeys(subject), args)) as [string, ...unknown[]];
    switch (reply[0]) {
      case 'CLAIMED':
        return { outcome: 'claimed' };
      case 'ACTIVE':
        return { outcome: 'active', id: String(reply[1]), resendMs: Number(reply[2]), lifeMs: Number(reply[3]) };
      case 'WAIT':
        return { outcome: 'wait', leftMs: Number(reply[1]) };
      case 'LIMITED':
        return { outcome: 'limited', leftMs: Number(reply[1]) };
      default:
        throw new Error(`claim.lua replied ${reply[0]}`);
    }
  }

  /**
   * Best effort: what is not released ends by itself.
   * @param giveBackTo address whose use did not count, null when it did
   */
  async release(subject: CaptchaSubject, id: string, giveBackTo: string | null): Promise<void> {
    const args = [id, giveBackTo ?? ''];
    await this.scripts.run(RELEASE, this.subjectKeys(subject), args).catch(() => undefined);
  }

  /** @returns how the code ended, null when MySQL has to be asked. @throws AppError SHORT_STATE_UNAVAILABLE */
  async endState(name: CaptchaName): Promise<EndState | null> {
    const key = this.stateKey(name);
    const status = await this.scripts.command('captcha_state', (client) => client.hget(key, 'status'));
    return status === 'locked' || status === 'verified' ? status : null;
  }

  /** Best effort. */
  async note(name: CaptchaName, status: EndState | 'sent' | null, attempts: number): Promise<void> {
    const args = [status ?? '', attempts, this.lifeMs];
    await this.scripts.run(NOTE, [this.stateKey(name)], args).catch(() => undefined);
  }

  private subjectKeys({ tenant, scene, phoneHash }: CaptchaSubject): [string, string] {
    const params = { t: tenant, scene, phone: phoneHash.toString('hex') };
    return [this.keys.of('captchaActive', params), this.keys.of('captchaQuota', params)];
  }

  private stateKey({ tenant, id }: CaptchaName): string {
    return this.keys.of('captchaState', { t: tenant, id });
  }
}
