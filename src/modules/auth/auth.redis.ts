import { Inject, Injectable } from '@nestjs/common';
import { ENV, type Env } from '../../platform/env/env.js';
import type { TenantId } from '../../platform/ids/ids.js';
import { RedisKeys } from '../../platform/redis/keys.js';
import { loadScript, RedisScripts } from '../../platform/redis/redis-scripts.js';
import { hashToken } from '../../platform/ids/opaque-tokens.js';

const MARK = loadScript(__dirname, 'session_mark');
const NOTE_STANDING = loadScript(__dirname, 'session_stands');
/** What the scripts take for a revocation. */
const REVOKED = '1';

/** Short state of authentication. All of it may be lost at any time: login tokens are then void, marks are asked of MySQL. */
@Injectable()
export class AuthRedis {
  private readonly markSeconds: number;

  constructor(
    private readonly keys: RedisKeys,
    private readonly scripts: RedisScripts,
    @Inject(ENV) private readonly env: Env,
  ) {
    this.markSeconds = env.ACCESS_TOKEN_TTL_SECONDS;
  }

  /** @returns life of the token, seconds. @throws RedisUnavailable */
  async saveLoginToken(tenant: TenantId, token: string): Promise<number> {
    const seconds = this.env.SHORT_STATE_TTL_SECONDS;
    const key = this.tokenKey(tenant, token);
    const value = JSON.stringify({ purpose: 'login' });
    await this.scripts.command('login_token_save', (client) => client.set(key, value, 'EX', seconds));
    return seconds;
  }

  /** @throws RedisUnavailable: a security check that cannot be made is not passed. */
  async isLoginToken(tenant: TenantId, token: string): Promise<boolean> {
    const key = this.tokenKey(tenant, token);
    const value = await this.scripts.command('login_token_check', (client) => client.get(key));
    return value !== null && (JSON.parse(value) as { purpose?: unknown }).purpose === 'login';
  }

  /** @returns null when Redis knows nothing that still counts. @throws RedisUnavailable */
  async sessionMark(tenant: TenantId, sessionId: string): Promise<'stands' | 'revoked' | null> {
    const reply = await this.scripts.run(MARK, [this.sessionKey(tenant, sessionId)], []);
    switch (reply) {
      case 'STANDS':
        return 'stands';
      case 'REVOKED':
        return 'revoked';
      case 'UNKNOWN':
        return null;
      default:
        throw new Error(`session_mark answered ${String(reply)}`);
    }
  }

  /** Never covers a revocation. @throws RedisUnavailable */
  async markStanding(tenant: TenantId, sessionId: string): Promise<void> {
    await this.scripts.run(NOTE_STANDING, [this.sessionKey(tenant, sessionId)], [this.markSeconds]);
  }

  /** Outlives every access token of the session that was issued until now. @throws RedisUnavailable */
  async markRevoked(tenant: TenantId, sessionId: string): Promise<void> {
    const key = this.sessionKey(tenant, sessionId);
    await this.scripts.command('session_revoke', (client) => client.set(key, REVOKED, 'EX', this.markSeconds + 60));
  }

  private tokenKey(tenant: TenantId, token: string): string {
    return this.keys.of('shortToken', { t: tenant, hash: hashToken(token).toString('hex') });
  }

  private sessionKey(tenant: TenantId, sid: string): string {
    return this.keys.of('sessionRevoked', { t: tenant, sid });
  }
}
