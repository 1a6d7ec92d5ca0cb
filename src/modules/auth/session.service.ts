import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { AppError } from '../../platform/errors/app-error.js';
import type { Actor, TenantId, UserId } from '../../platform/ids/ids.js';
import { Logger } from '../../platform/observe/logger.js';
import { UserService } from '../user/user.service.js';
import { AccessTokens } from './access-tokens.js';
import type { DeviceInfo, RevokeReason, SessionInfo, TokenPair } from './auth.types.js';
import { tenantOfToken } from '../../platform/ids/opaque-tokens.js';
import { Revocations } from './revocations.js';
import { SessionStore, type Rotation } from './session.store.js';

/** Sessions that one answer lists at most. */
const MAX_LISTED = 200;

/** Login sessions from their beginning to their end. */
@Injectable()
export class SessionService {
  constructor(
    private readonly store: SessionStore,
    private readonly tokens: AccessTokens,
    private readonly revocations: Revocations,
    private readonly users: UserService,
    private readonly log: Logger,
  ) {}

  /** Begins a session for a user who has proved who he is. */
  async open(tenant: TenantId, uid: UserId, device: DeviceInfo): Promise<TokenPair> {
    const { sessionId, refreshToken } = await this.store.open(tenant, uid, device);
    return this.pair({ tenant, uid, sessionId }, refreshToken);
  }

  /**
   * Exchanges a refresh token. The same token again within ten seconds gives the same successor; later it is taken for
   * stolen and ends the session.
   * @throws AppError UNAUTHENTICATED, TENANT_DISABLED
   */
  async refresh(refreshToken: string): Promise<TokenPair> {
    const tenant = tenantOfToken(refreshToken);
    if (!tenant) throw new AppError('UNAUTHENTICATED');
    const rotation = await this.rotate(tenant, refreshToken);
    if (rotation.outcome === 'refused') throw new AppError('UNAUTHENTICATED');
    const { uid, sessionId } = rotation;
    if (rotation.outcome === 'reused') {
      this.log.warn({ tenant, uid, sessionId }, 'an exchanged refresh token was shown again: session revoked');
      await this.revocations.announce(tenant, sessionId);
      throw new AppError('UNAUTHENTICATED');
    }
    if (!(await this.users.isActive(tenant, uid))) {
      await this.revoke({ tenant, uid, sessionId }, sessionId, 'user_disabled');
      throw new AppError('UNAUTHENTICATED');
    }
    return this.pair({ tenant, uid, sessionId }, rotation.refreshToken);
  }

  /** The user's own sessions that stand, the newest first. */
  list(actor: Actor): Promise<SessionInfo[]> {
    return this.store.list(actor.tenant, actor.uid, MAX_LISTED);
  }

  /**
   * Ends one session of the user: its refresh token is void at once, its access token with the next call, its sockets
   * are closed on all nodes.
   * @returns false when there is no such session of his, or it was over already
   */
  async revoke(actor: Actor, sessionId: string, reason: RevokeReason): Promise<boolean> {
    const revoked = await this.store.revoke(actor.tenant, actor.uid, sessionId, reason);
    if (revoked) await this.revocations.announce(actor.tenant, sessionId);
    return revoked;
  }

  /** Ends all sessions of the user, this one too. */
  async revokeAll(actor: Actor, reason: RevokeReason): Promise<void> {
    const revoked = await this.store.revokeAll(actor.tenant, actor.uid, reason);
    await this.announceEnd(actor.tenant, revoked);
  }

  /** As `revokeAll`, in the transaction of what makes it necessary. @returns what to announce after the commit */
  revokeAllIn(tx: EntityManager, uid: UserId, reason: RevokeReason): Promise<string[]> {
    return this.store.revokeAllIn(tx, uid, reason);
  }

  /** Has sessions that were revoked in MySQL take their end everywhere. Never throws. */
  async announceEnd(tenant: TenantId, sessionIds: readonly string[]): Promise<void> {
    await Promise.all(sessionIds.map((sessionId) => this.revocations.announce(tenant, sessionId)));
  }

  private async rotate(tenant: TenantId, refreshToken: string): Promise<Rotation> {
    try {
      return await this.store.rotate(tenant, refreshToken);
    } catch (error) {
      // A token that names no tenant of ours is simply a wrong token.
      if (error instanceof AppError && error.code === 'TENANT_UNKNOWN') return { outcome: 'refused' };
      throw error;
    }
  }

  private async pair(actor: Actor, refreshToken: string): Promise<TokenPair> {
    await this.revocations.noteStanding(actor.tenant, actor.sessionId);
    const accessToken = await this.tokens.issue(actor);
    return { uid: actor.uid, accessToken, refreshToken, expiresIn: this.tokens.ttlSeconds };
  }
}
