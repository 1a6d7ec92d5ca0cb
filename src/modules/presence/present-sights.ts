import { AppError } from '../../platform/errors/app-error.js';
import type { TenantId, UserId } from '../../platform/ids/ids.js';
import { FULL_SIGHT, NO_SIGHT, type PresenceSight } from '../relation/relation.types.js';
import type { PresenceQuery } from './presence-query.js';

/** Sights that change all the time are read no more often than that. */
const READS = 10;

/** Reads what askers may see so that no change that comes meanwhile is missed. */
export class PresentSights {
  /** Raised whenever what somebody may see has changed: a sight that was read before that is read again. */
  private changes = 0;

  constructor(private readonly query: PresenceQuery) {}

  /** What somebody may see has changed. */
  changed(): void {
    this.changes += 1;
  }

  /**
   * What the asker may see at the moment when this returns: a change that came while it was read found nobody yet who
   * watches, or was read before another one that has been read already. @throws AppError as PresenceQuery.sights, OVERLOADED
   */
  async read(tenant: TenantId, asker: UserId, uids: readonly UserId[]): Promise<Map<UserId, PresenceSight>> {
    for (let reading = 0; reading < READS; reading += 1) {
      const before = this.changes;
      const sights = await this.query.sights(tenant, asker, uids);
      if (this.changes === before) return sights;
    }
    throw new AppError('OVERLOADED', { retryAfterMs: 1000 });
  }
}

const PRESENCE_ALONE: PresenceSight = { presence: true, lastSeen: false };

/** One of three objects: there are many watchers. */
export function sharedSight({ presence, lastSeen }: PresenceSight = NO_SIGHT): PresenceSight {
  if (!presence) return NO_SIGHT;
  return lastSeen ? FULL_SIGHT : PRESENCE_ALONE;
}
