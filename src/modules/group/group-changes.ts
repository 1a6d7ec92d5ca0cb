import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { AppError } from '../../platform/errors/app-error.js';
import type { Actor, TenantId, Topic, UserId } from '../../platform/ids/ids.js';
import { TenantDataSources } from '../../platform/mysql/tenant-data-sources.js';
import { AuditService } from '../audit/audit.service.js';
import { TopicService } from '../topic/topic.service.js';
import { selectAccess } from './access.store.js';
import { GroupQueue } from './group-queue.js';
import { lockGroup, type LockedGroup } from './group.store.js';
import { UnknownOutcomes } from './unknown-outcomes.js';
import { decide, type GroupAction, type GroupRole } from './group.types.js';

/** A change of one group that is under way: the group's row is locked. */
export interface OpenChange {
  readonly tx: EntityManager;
  readonly group: LockedGroup;
  /** @returns the actor's role. @throws AppError when he may not do this */
  permit(action: GroupAction): Promise<GroupRole>;
  /** Records what is done, in this transaction. @param detail never content */
  audit(action: string, detail?: object): Promise<void>;
}

/**
 * Every change of an existing group goes through here: one transaction that locks the group's row, then members, and the
 * topic's row last, where it raises `acl_version`. A deadlock or a lock wait repeats all of it.
 */
@Injectable()
export class GroupChanges {
  private readonly queue = new GroupQueue();

  constructor(
    private readonly databases: TenantDataSources,
    private readonly topics: TopicService,
    private readonly audit: AuditService,
    private readonly unknown: UnknownOutcomes,
  ) {}

  /**
   * @param work has no effect outside the database
   * @param last runs while the topic's row is locked exclusively, so that no message is committing
   * @param touched whose membership it may change: when the database does not answer and the outcome is open, they are
   *   looked at again later
   * @throws AppError NOT_MEMBER when there is no such group
   */
  async run<T>(
    actor: Actor,
    topic: Topic,
    work: (change: OpenChange) => Promise<T>,
    last?: (tx: EntityManager, result: T) => Promise<void>,
    touched: readonly UserId[] = [],
  ): Promise<T> {
    try {
      return await this.transaction(actor.tenant, topic, async (tx) => {
        const group = await lockGroup(tx, topic);
        if (!group) throw new AppError('NOT_MEMBER');
        const result = await work({
          tx,
          group,
          permit: (action) => requireAccess(tx, actor, topic, action),
          audit: (action, detail) => this.audit.record(tx, { actor: actor.uid, action, target: topic, detail }),
        });
        await this.topics.raiseAcl(tx, topic);
        await last?.(tx, result);
        return result;
      });
    } catch (error) {
      this.unknown.follow(error, actor.tenant, topic, touched);
      throw error;
    }
  }

  private transaction<T>(tenant: TenantId, topic: Topic, work: (tx: EntityManager) => Promise<T>): Promise<T> {
    return this.queue.run(`${tenant}/${topic}`, () => this.databases.run(tenant, (db) => db.transaction(work)));
  }
}

async function requireAccess(tx: EntityManager, actor: Actor, topic: Topic, action: GroupAction): Promise<GroupRole> {
  const found = await selectAccess((sql, values) => tx.query(sql, values as unknown[]), topic, [actor.uid]);
  const access = found.get(actor.uid);
  if (!access) throw new AppError('NOT_MEMBER');
  const refusal = decide(access, action, Date.now());
  if (refusal !== null) throw refused(refusal, action);
  return access.role as GroupRole;
}

function refused(code: ReturnType<typeof decide> & string, action: GroupAction): AppError {
  if (action === 'leave' && code === 'CONFLICT') {
    return new AppError(code, { message: 'You own this group. Transfer it to another member or dismiss it.' });
  }
  return new AppError(code);
}
