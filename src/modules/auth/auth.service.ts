import { Injectable } from '@nestjs/common';
import { AppError } from '../../platform/errors/app-error.js';
import type { Actor, TenantId } from '../../platform/ids/ids.js';
import { RedisUnavailable } from '../../platform/redis/redis-scripts.js';
import { TenantService } from '../tenant/tenant.service.js';
import { AccessTokens } from './access-tokens.js';
import { AuthRedis } from './auth.redis.js';
import type { Authenticated } from './auth.types.js';
import { Revocations } from './revocations.js';
import { SessionStore } from './session.store.js';

/** Who is it? Asked by the guard of REST and by the handshake of sockets. */
@Injectable()
export class AuthService {
  constructor(
    private readonly tokens: AccessTokens,
    private readonly tenants: TenantService,
    private readonly redis: AuthRedis,
    private readonly revocations: Revocations,
    private readonly sessions: SessionStore,
  ) {}

  /**
   * Checks an access token, its tenant and its session: one Redis round trip. MySQL is asked only when Redis does not
   * answer or knows nothing of the session.
   * @throws AppError UNAUTHENTICATED, TOKEN_EXPIRED, TENANT_DISABLED, STORAGE_UNAVAILABLE
   */
  async authenticate(token: unknown): Promise<Authenticated> {
    const authenticated = await this.tokens.verify(token);
    await this.recheck(authenticated.actor);
    return authenticated;
  }

  /**
   * Does it still stand for whoever was authenticated before? Asks tenant and session, not the token again.
   * @throws AppError UNAUTHENTICATED, TENANT_DISABLED, STORAGE_UNAVAILABLE
   */
  async recheck(actor: Actor): Promise<void> {
    this.checkTenant(actor.tenant);
    if (!(await this.sessionStands(actor))) throw new AppError('UNAUTHENTICATED');
  }

  private checkTenant(tenant: TenantId): void {
    try {
      this.tenants.get(tenant);
    } catch (error) {
      if (error instanceof AppError && error.code === 'TENANT_UNKNOWN') throw new AppError('UNAUTHENTICATED');
      throw error;
    }
  }

  private async sessionStands(actor: Actor): Promise<boolean> {
    const { tenant, uid, sessionId } = actor;
    if (this.revocations.isPending(tenant, sessionId)) return false;
    const mark = await this.redis.sessionMark(tenant, sessionId).catch(nothingFromRedis);
    if (mark !== null) return mark === 'stands';
    const stands = await this.sessions.stands(tenant, uid, sessionId);
    if (stands) await this.revocations.noteStanding(tenant, sessionId);
    return stands;
  }
}

function nothingFromRedis(error: unknown): null {
  if (error instanceof RedisUnavailable) return null;
  throw error;
}
