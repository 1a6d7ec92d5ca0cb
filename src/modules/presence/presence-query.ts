import { Injectable } from '@nestjs/common';
import type { TenantId, UserId } from '../../platform/ids/ids.js';
import { Logger } from '../../platform/observe/logger.js';
import { RelationService } from '../relation/relation.service.js';
import type { PresenceSight } from '../relation/relation.types.js';
import { UserService } from '../user/user.service.js';
import type { Presence } from './presence.types.js';
import type { UserState } from './session.redis.js';
import { PresenceStates } from './states.js';

/** Answers who is online, as far as the asker may see it. */
@Injectable()
export class PresenceQuery {
  constructor(
    private readonly states: PresenceStates,
    private readonly relations: RelationService,
    private readonly users: UserService,
    private readonly log: Logger,
  ) {}

  /** @throws AppError STORAGE_UNAVAILABLE: without the users' settings nothing is told */
  sights(tenant: TenantId, asker: UserId, uids: readonly UserId[]): Promise<Map<UserId, PresenceSight>> {
    return this.relations.presenceVisibility(tenant, asker, uids);
  }

  /** In the order asked, each once. @throws as `sights` */
  async presences(tenant: TenantId, asker: UserId, uids: readonly UserId[]): Promise<Presence[]> {
    const wanted = [...new Set(uids)];
    const sights = await this.sights(tenant, asker, wanted);
    const visible = wanted.filter((uid) => sights.get(uid)?.presence);
    return this.compose(tenant, wanted, sights, await this.states.read(tenant, visible));
  }

  /** @param states of those that may be seen; null = unknown */
  async compose(
    tenant: TenantId,
    uids: readonly UserId[],
    sights: ReadonlyMap<UserId, PresenceSight>,
    states: ReadonlyMap<UserId, UserState> | null,
  ): Promise<Presence[]> {
    const seen = await this.lastSeen(tenant, uids, sights, states);
    return uids.map((uid) => {
      if (!sights.get(uid)?.presence) return { uid, state: 'hidden' };
      const state = states?.get(uid);
      if (!state) return { uid, state: 'unknown' };
      if (state.online) return { uid, state: 'online', devices: state.devices };
      const seenMs = seen.get(uid);
      return { uid, state: 'offline', ...(seenMs ? { lastSeenAt: new Date(seenMs).toISOString() } : {}) };
    });
  }

  /** Of those who are offline and let it be seen: from Redis, which knows the last minutes, else from MySQL. */
  private async lastSeen(
    tenant: TenantId,
    uids: readonly UserId[],
    sights: ReadonlyMap<UserId, PresenceSight>,
    states: ReadonlyMap<UserId, UserState> | null,
  ): Promise<Map<UserId, number>> {
    const offline = uids.filter((uid) => sights.get(uid)?.lastSeen && states?.get(uid)?.online === false);
    const seen = new Map(offline.map((uid) => [uid, states!.get(uid)!.lastSeenMs]));
    const unknown = offline.filter((uid) => seen.get(uid) === 0);
    if (unknown.length === 0) return seen;
    try {
      for (const [uid, seenMs] of await this.users.lastSeen(tenant, unknown)) seen.set(uid, seenMs);
    } catch (error) {
      this.log.debug({ tenant, error: (error as Error).message }, 'last seen could not be read');
    }
    return seen;
  }
}
