import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { TenantId, Topic, UserId } from '../../platform/ids/ids.js';
import { isUnavailable } from '../../platform/mysql/mysql-errors.js';
import { TenantDataSources } from '../../platform/mysql/tenant-data-sources.js';
import { OpenOutcome } from '../../platform/mysql/tenant-db.js';
import { Logger } from '../../platform/observe/logger.js';
import { GroupAnnouncer } from './group-announcer.js';
import { selectMemberUids } from './access.store.js';
import { lockGroup } from './group.store.js';

const PAUSE_MS = 500;
/** Groups that are followed at the same time in one node. */
const MOST = 1000;

/**
 * A change whose outcome is not known: the database did not answer in time and may have committed it, now or later. Its
 * caller is told to repeat it. Should he not, nobody would hear of a change that is in force; so it is followed: when the
 * transaction has ended and the group's row can be locked, whatever it did is visible, access records are removed, the
 * memberships that it touched are read again, and the members are told to ask.
 */
@Injectable()
export class UnknownOutcomes implements OnApplicationShutdown {
  private following = 0;
  private stopped = false;

  constructor(
    private readonly databases: TenantDataSources,
    private readonly announcer: GroupAnnouncer,
    private readonly log: Logger,
  ) {}

  /** @param error of the change; one that says what happened is not followed */
  follow(error: unknown, tenant: TenantId, topic: Topic, touched: readonly UserId[]): void {
    if (!(error instanceof OpenOutcome) && !isUnavailable(error)) return;
    if (this.following >= MOST) {
      this.log.error({ tenant, topic }, 'a change of unknown outcome is not followed: too many are');
      return;
    }
    this.following += 1;
    const ended = error instanceof OpenOutcome ? error.ended : Promise.resolve();
    ended
      .then(() => this.settle(tenant, topic, touched))
      .catch((failure: Error) => this.log.error({ tenant, topic, error: failure.message }, 'outcome not followed'))
      .finally(() => (this.following -= 1));
  }

  onApplicationShutdown(): void {
    this.stopped = true;
  }

  private async settle(tenant: TenantId, topic: Topic, touched: readonly UserId[]): Promise<void> {
    const group = await this.lookAgain(tenant, topic);
    if (!group) return;
    const dismissed = group.state === 'dismissed';
    const members = dismissed
      ? await this.databases.run(tenant, (db) => selectMemberUids((sql, values) => db.query(sql, values), topic))
      : null;
    await this.announcer.reread(tenant, topic, touched, members);
    this.log.warn({ tenant, topic }, 'a change of unknown outcome was looked at again, and its group told to ask');
  }

  /** What is stored once nobody holds the group's row any more; null when the node ends before. */
  private async lookAgain(tenant: TenantId, topic: Topic): ReturnType<typeof lockGroup> {
    while (!this.stopped) {
      try {
        return await this.databases.run(tenant, (db) => db.transaction((tx) => lockGroup(tx, topic)));
      } catch {
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS).unref());
      }
    }
    return null;
  }
}
