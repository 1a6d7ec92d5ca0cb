import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { AppError } from '../../platform/errors/app-error.js';
import type { Actor, Topic } from '../../platform/ids/ids.js';
import { groupTopic } from '../../platform/ids/topic.js';
import { TenantDataSources } from '../../platform/mysql/tenant-data-sources.js';
import { RelationService } from '../relation/relation.service.js';
import { GroupChanges, type OpenChange } from './group-changes.js';
import { GroupEntry, isOutside, type JoinAnswer } from './group-entry.js';
import {
  countInviteUse,
  insertInvite,
  inviterOf,
  lockUsableInvite,
  needsApproval,
  putJoinRequest,
  revokeInvite,
  selectInviteGroup,
  type InviteRow,
} from './group-joins.store.js';
import { InviteCache } from './group.redis.js';
import { GroupService } from './group.service.js';
import { decide } from './group.types.js';

const CODE_BYTES = 12;

/** Into a group by a code that somebody in it has made. */
@Injectable()
export class GroupInvitesService {
  constructor(
    private readonly databases: TenantDataSources,
    private readonly groups: GroupService,
    private readonly entry: GroupEntry,
    private readonly changes: GroupChanges,
    private readonly relations: RelationService,
    private readonly codes: InviteCache,
  ) {}

  /**
   * @param maxUses null = as often as wanted
   * @returns a code that lets others in until it ends
   */
  async create(
    actor: Actor,
    topic: Topic,
    { maxUses, expiresInSeconds }: { readonly maxUses: number | null; readonly expiresInSeconds: number },
  ): Promise<{ code: string; maxUses: number | null; expiresAt: string }> {
    const code = randomBytes(CODE_BYTES).toString('base64url');
    const expiresAt = new Date(Date.now() + expiresInSeconds * 1000);
    await this.changes.run(actor, topic, async ({ tx, group, permit, audit }) => {
      await permit('invite');
      await insertInvite(tx, { code, groupId: group.id, by: actor.uid, maxUses, expiresAt });
      await audit('group.invite', { maxUses, expiresAt });
    });
    return { code, maxUses, expiresAt: expiresAt.toISOString() };
  }

  /** Ends an invite; the one who made it and admins may. Repeating it changes nothing. */
  async revoke(actor: Actor, topic: Topic, code: string): Promise<void> {
    await this.changes.run(actor, topic, async ({ tx, group, permit, audit }) => {
      await permit('read');
      const by = await inviterOf(tx, group.id, code);
      if (by !== actor.uid) await permit('reviewJoins');
      if (by === null) throw new AppError('NOT_FOUND');
      await revokeInvite(tx, code);
      await audit('group.invite.revoke', { by });
    });
  }

  /**
   * Joins by an invite. That of an admin lets in at once; that of a member, where the group wants approval, is a request.
   * A member who repeats it uses nothing up.
   * @throws AppError NOT_FOUND (no such code, ended, used up, or its maker may not invite any more), BLOCKED (banned, or
   *   blocks between the two), CONFLICT (the group is full), GROUP_DISMISSED
   */
  async accept(actor: Actor, code: string): Promise<JoinAnswer> {
    const groupId = await this.codes.groupOf(actor.tenant, code, () =>
      this.databases.run(actor.tenant, (db) => selectInviteGroup(db, code)),
    );
    if (groupId === null) throw new AppError('NOT_FOUND');
    return this.entry.enter(actor, groupTopic(groupId), async (change) => {
      if (!(await isOutside(change, actor.uid))) return null;
      const { tx, group } = change;
      const invite = await lockUsableInvite(tx, code);
      const mayBypass = invite && (await this.inviterIsAdmin(change, invite));
      if (!invite || mayBypass === null) throw new AppError('NOT_FOUND', { message: 'This invite has ended.' });
      if ((await this.relations.blockedAmong(tx, actor.uid, [invite.created_by])).size > 0)
        throw new AppError('BLOCKED');
      await countInviteUse(tx, code);
      if (mayBypass || !(await needsApproval(tx, group.id))) return true;
      await putJoinRequest(tx, group.id, actor.uid, '');
      return false;
    });
  }

  /** null when the one who made the invite may not invite any more */
  private async inviterIsAdmin({ tx, group }: OpenChange, invite: InviteRow): Promise<boolean | null> {
    const access = await this.groups.accessIn(tx, groupTopic(group.id), invite.created_by);
    if (decide(access, 'invite', Date.now()) !== null) return null;
    return access.role !== 'member';
  }
}
