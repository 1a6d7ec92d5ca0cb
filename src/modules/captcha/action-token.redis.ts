import { Inject, Injectable } from '@nestjs/common';
import { ENV, type Env } from '../../platform/env/env.js';
import type { TenantId } from '../../platform/ids/ids.js';
import { hashToken } from '../../platform/ids/opaque-tokens.js';
import { RedisKeys } from '../../platform/redis/keys.js';
import { RedisScripts } from '../../platform/redis/redis-scripts.js';
import type { Scene } from './captcha.types.js';

/** Copies of action tokens: their purposes by their hashes. MySQL decides; a lost copy costs one question. */
@Injectable()
export class ActionTokenRedis {
  constructor(
    private readonly keys: RedisKeys,
    private readonly scripts: RedisScripts,
    @Inject(ENV) private readonly env: Pick<Env, 'SHORT_STATE_TTL_SECONDS'>,
  ) {}

  /** Best effort. */
  async note(tenant: TenantId, token: string, purpose: Scene): Promise<void> {
    const key = this.key(tenant, token);
    const seconds = this.env.SHORT_STATE_TTL_SECONDS;
    await this.scripts
      .command('action_token_note', (client) => client.set(key, purpose, 'EX', seconds))
      .catch(() => undefined);
  }

  /** @returns null when MySQL has to be asked. @throws AppError SHORT_STATE_UNAVAILABLE */
  async purposeOf(tenant: TenantId, token: string): Promise<string | null> {
    const key = this.key(tenant, token);
    return this.scripts.command('action_token_check', (client) => client.get(key));
  }

  /** After it was spent. Best effort: MySQL knows. */
  async forget(tenant: TenantId, token: string): Promise<void> {
    const key = this.key(tenant, token);
    await this.scripts.command('action_token_forget', (client) => client.del(key)).catch(() => undefined);
  }

  private key(tenant: TenantId, token: string): string {
    return this.keys.of('actionToken', { t: tenant, hash: hashToken(token).toString('hex') });
  }
}
