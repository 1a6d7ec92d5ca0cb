import { Injectable } from '@nestjs/common';
import { AppError } from '../../platform/errors/app-error.js';
import { SignedCursors } from '../../platform/http/signed-cursors.js';
import type { Actor, Topic, UserId } from '../../platform/ids/ids.js';
import { groupIdOf } from '../../platform/ids/topic.js';
import { TenantDataSources } from '../../platform/mysql/tenant-data-sources.js';
import { UserService } from '../user/user.service.js';
import type { UserProfile } from '../user/user.types.js';
import { admit } from './group-admission.js';
import { GroupAnnouncer } from './group-announcer.js';
import { GroupChanges } from './group-changes.js';
import { GroupEntry, isOutside, type JoinAnswer } from './group-entry.js';
import {
  joinRequestById,
  joinRequestOf,
  needsApproval,
  putJoinRequest,
  selectJoinRequests,
  settleJoinRequests,
} from './group-joins.store.js';
import { GroupLimits } from './group-limits.js';
import { GroupService } from './group.service.js';
import { storeJoinedSeq } from './group.store.js';

export interface JoinRequest {
  readonly id: string;
  readonly uid: UserId;
  readonly message: string;
  readonly createdAt: string;
  /** null when the account no longer exists */
  readonly user: UserProfile | null;
}

/** Into a group by request, with approval where the group wants it. */
@Injectable()
export class GroupJoinRequestsService {
  constructor(
    private readonly databases: TenantDataSources,
    private readonly groups: GroupService,
    private readonly entry: GroupEntry,
    private readonly changes: GroupChanges,
    private readonly announcer: GroupAnnouncer,
    private readonly limits: GroupLimits,
    private readonly users: UserService,
    private readonly cursors: SignedCursors,
  ) {}

  /**
   * Asks to be let in; where the group wants no approval one is in at once. Asking twice is one request.
   * @throws AppError NOT_MEMBER (no such group), GROUP_DISMISSED, CONFLICT (a member already), BLOCKED (banned)
   */
  request(actor: Actor, topic: Topic, message: string): Promise<JoinAnswer> {
    return this.entry.enter(actor, topic, async (change) => {
      const { tx, group } = change;
      if (!(await isOutside(change, actor.uid))) {
        throw new AppError('CONFLICT', { message: 'You are a member already.' });
      }
      if (!(await needsApproval(tx, group.id))) return true;
      const known = await joinRequestOf(tx, group.id, actor.uid);
      if (known?.state !== 'pending') await putJoinRequest(tx, group.id, actor.uid, message);
      return false;
    });
  }

  /** Pending requests, for those who decide on them. */
  async requests(
    actor: Actor,
    topic: Topic,
    { cursor, limit }: { readonly cursor?: string; readonly limit: number },
  ): Promise<{ items: JoinRequest[]; nextCursor: string | null }> {
    const name = JSON.stringify(['join-requests', actor.tenant, topic]);
    const after = cursor === undefined ? '0' : this.cursors.read(name, cursor);
    const rows = await this.databases.run(actor.tenant, async (db) => {
      await this.groups.permit(db, actor.uid, topic, 'reviewJoins');
      return selectJoinRequests(db, groupIdOf(topic), { after, limit: limit + 1 });
    });
    const shown = rows.slice(0, limit);
    const profiles = await this.users.publicProfiles(
      actor.tenant,
      shown.map((row) => row.uid),
    );
    const items = shown.map((row) => ({
      id: row.id,
      uid: row.uid,
      message: row.message,
      createdAt: row.created_at.toISOString(),
      user: profiles.get(row.uid) ?? null,
    }));
    return { items, nextCursor: rows.length > limit ? this.cursors.write(name, rows[limit - 1].id) : null };
  }

  /**
   * Approves or rejects a request. Repeating it changes nothing.
   * @throws AppError NOT_FOUND, CONFLICT (decided otherwise, or the group is full), BLOCKED (banned meanwhile)
   */
  async decide(actor: Actor, topic: Topic, id: string, state: 'approved' | 'rejected'): Promise<void> {
    // Known to the change as soon as it is read: an outcome that stays open is followed for him.
    const touched: UserId[] = [];
    const joined = await this.changes.run(
      actor,
      topic,
      async (change): Promise<readonly UserId[]> => {
        await change.permit('reviewJoins');
        const { tx, group } = change;
        const request = await joinRequestById(tx, group.id, id);
        if (!request) throw new AppError('NOT_FOUND');
        touched.push(request.uid);
        if (request.state === state) return [];
        if (request.state !== 'pending') {
          throw new AppError('CONFLICT', { message: `The request was ${request.state} already.` });
        }
        await settleJoinRequests(tx, group.id, [request.uid], state, actor.uid);
        await change.audit(`group.join.${state}`, { uid: request.uid });
        if (state === 'rejected') return [];
        return (await admit(change, [request.uid], this.limits.maxMembers(actor.tenant), true)).added;
      },
      (tx, added) => storeJoinedSeq(tx, topic, added),
      touched,
    );
    if (joined.length > 0) await this.announcer.joined(actor, topic, joined);
  }
}
