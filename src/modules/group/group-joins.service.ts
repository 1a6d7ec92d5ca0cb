import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { AppError } from '../../platform/errors/app-error.js';
import { SignedCursors } from '../../platform/http/signed-cursors.js';
import type { Actor, Topic, UserId } from '../../platform/ids/ids.js';
import { groupIdOf, groupTopic } from '../../platform/ids/topic.js';
import { TenantDataSources } from '../../platform/mysql/tenant-data-sources.js';
import { RelationService } from '../relation/relation.service.js';
import { UserService } from '../user/user.service.js';
import type { UserProfile } from '../user/user.types.js';
import { admit } from './group-admission.js';
import { GroupAnnouncer } from './group-announcer.js';
import { bannedOf } from './group-bans.store.js';
import { GroupChanges, type OpenChange } from './group-changes.js';
import {
  countInviteUse,
  insertInvite,
  inviterOf,
  joinRequestById,
  joinRequestOf,
  lockUsableInvite,
  needsApproval,
  putJoinRequest,
  revokeInvite,
  selectInviteGroup,
  selectJoinRequests,
  settleJoinRequests,
  type InviteRow,
} from './group-joins.store.js';
import { GroupLimits } from './group-limits.js';
import { InviteCache } from './group.redis.js';
import { GroupService } from './group.service.js';
import { lockMembers, storeJoinedSeq } from './group.store.js';
import { decide } from './group.types.js';

export interface JoinAnswer {
  readonly topic: Topic;
  /** `pending`: somebody has to approve it. */
  readonly state: 'joined' | 'pending';
}

export interface JoinRequest {
  readonly id: string;
  readonly uid: UserId;
  readonly message: string;
  readonly createdAt: string;
  /** null when the account no longer exists */
  readonly user: UserProfile | null;
}

const CODE_BYTES = 12;

/** Ways into a group: by request with approval, by invite. */
@Injectable()
export class GroupJoinsService {
  constructor(
    private readonly databases: TenantDataSources,
    private readonly groups: GroupService,
    private readonly changes: GroupChanges,
    private readonly announcer: GroupAnnouncer,
    private readonly limits: GroupLimits,
    private readonly relations: RelationService,
    private readonly users: UserService,
    private readonly cursors: SignedCursors,
    private readonly invites: InviteCache,
  ) {}

  /**
   * Asks to be let in; where the group wants no approval one is in at once. Asking twice is one request.
   * @throws AppError NOT_MEMBER (no such group), GROUP_DISMISSED, CONFLICT (a member already), BLOCKED (banned)
   */
  request(actor: Actor, topic: Topic, message: string): Promise<JoinAnswer> {
    return this.enter(actor, topic, async (change) => {
      const { tx, group } = change;
      if (!(await this.isOutside(change, actor.uid))) {
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
    const joined = await this.changes.run(
      actor,
      topic,
      async (change): Promise<readonly UserId[]> => {
        await change.permit('reviewJoins');
        const { tx, group } = change;
        const request = await joinRequestById(tx, group.id, id);
        if (!request) throw new AppError('NOT_FOUND');
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
    );
    if (joined.length > 0) await this.announcer.joined(actor, topic, joined);
  }

  /**
   * @param maxUses null = as often as wanted
   * @returns a code that lets others in until it ends
   */
  async invite(
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
  async revokeInvite(actor: Actor, topic: Topic, code: string): Promise<void> {
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
    const groupId = await this.invites.groupOf(actor.tenant, code, () =>
      this.databases.run(actor.tenant, (db) => selectInviteGroup(db, code)),
    );
    if (groupId === null) throw new AppError('NOT_FOUND');
    return this.enter(actor, groupTopic(groupId), async (change) => {
      if (!(await this.isOutside(change, actor.uid))) return null;
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

  /** @param work answers whether the actor is let in, asks (false), or is in already (null) */
  private async enter(
    actor: Actor,
    topic: Topic,
    work: (change: OpenChange) => Promise<boolean | null>,
  ): Promise<JoinAnswer> {
    const { joined, state } = await this.changes.run(
      actor,
      topic,
      async (change): Promise<{ joined: readonly UserId[]; state: JoinAnswer['state'] }> => {
        if (change.group.state === 'dismissed') throw new AppError('GROUP_DISMISSED');
        const letIn = await work(change);
        if (letIn === null) return { joined: [], state: 'joined' };
        if (!letIn) return { joined: [], state: 'pending' };
        const { added } = await admit(change, [actor.uid], this.limits.maxMembers(actor.tenant), true);
        await settleJoinRequests(change.tx, change.group.id, [actor.uid], 'approved', actor.uid);
        await change.audit('group.join', { uid: actor.uid });
        return { joined: added, state: 'joined' };
      },
      (tx, { joined: added }) => storeJoinedSeq(tx, topic, added),
      [actor.uid],
    );
    if (joined.length > 0) await this.announcer.joined(actor, topic, joined);
    return { topic, state };
  }

  /** @throws AppError BLOCKED for one who is banned */
  private async isOutside({ tx, group }: OpenChange, uid: UserId): Promise<boolean> {
    if ((await lockMembers(tx, group.id, [uid])).get(uid)?.state === 'active') return false;
    if ((await bannedOf(tx, group.id, [uid])).size > 0) {
      throw new AppError('BLOCKED', { message: 'You are banned from this group.' });
    }
    return true;
  }

  /** null when the one who made the invite may not invite any more */
  private async inviterIsAdmin({ tx, group }: OpenChange, invite: InviteRow): Promise<boolean | null> {
    const access = await this.groups.accessIn(tx, groupTopic(group.id), invite.created_by);
    if (decide(access, 'invite', Date.now()) !== null) return null;
    return access.role !== 'member';
  }
}
