import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { AppError } from '../../platform/errors/app-error.js';
import type { Actor, TenantId, UserId } from '../../platform/ids/ids.js';
import { Logger } from '../../platform/observe/logger.js';
import { TenantService } from '../tenant/tenant.service.js';
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
    private readonly tenants: TenantService,
    private readonly log: Logger,
  ) {}

  /**
   * Begins a session for a user who has proved who he is. Above the tenant's `sessionsPerUser` the longest unused one ends:
   * its tokens are void, its sockets are closed on all nodes.
   * @param check asked in the transaction that begins it: does the proof still count?
   * @throws AppError UNAUTHENTICATED when it does not
   */
  async open(
    tenant: TenantId,
    uid: UserId,
    device: DeviceInfo,
    check: (tx: EntityManager) => Promise<boolean> = () => Promise.resolve(true),
  ): Promise<TokenPair> {
    const most = this.tenants.get(tenant).settings.sessionsPerUser;
    // Logins of one user go one after the other, or each would overlook the others.
    const opened = await this.store.open(
      tenant,
      uid,
      device,
      most,
      async (tx) => (await this.users.lockIn(tx, uid)) && check(tx),
    );
    if (!opened) throw new AppError('UNAUTHENTICATED');
    if (opened.ended.length > 0) await this.revocations.announce(tenant, uid, opened.ended);
    return this.pair({ tenant, uid, sessionId: opened.sessionId }, opened.refreshToken);
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
      await this.revocations.announce(tenant, uid, [sessionId]);
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
   * are closed on all nodes. Repeating it tells that again, in case the node that ended it died before it could.
   * @returns false when there is no such session of his, or it was over already
   */
  async revoke(actor: Actor, sessionId: string, reason: RevokeReason): Promise<boolean> {
    const { tenant, uid } = actor;
    const outcome = await this.store.revoke(tenant, uid, sessionId, reason);
    if (outcome !== null) await this.revocations.announce(tenant, uid, [sessionId]);
    return outcome === 'ended';
  }

  /** Ends all sessions of the user, this one too. */
  async revokeAll(actor: Actor, reason: RevokeReason): Promise<void> {
    const revoked = await this.store.revokeAll(actor.tenant, actor.uid, reason);
    await this.announceEnd(actor.tenant, actor.uid, revoked);
  }

  /** As `revokeAll`, in the transaction of what makes it necessary. @returns what to announce after the commit */
  revokeAllIn(tx: EntityManager, uid: UserId, reason: RevokeReason): Promise<string[]> {
    return this.store.revokeAllIn(tx, uid, reason);
  }

  /** Has sessions of a user that were revoked in MySQL take their end everywhere. Never throws. */
  announceEnd(tenant: TenantId, uid: UserId, sessionIds: readonly string[]): Promise<void> {
    return this.revocations.announce(tenant, uid, sessionIds);
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
