import { Injectable } from '@nestjs/common';
import { AppError } from '../../platform/errors/app-error.js';
import type { Actor, Topic, UserId } from '../../platform/ids/ids.js';
import { RelationService } from '../relation/relation.service.js';
import { admit, refusedError, type AddedMembers } from './group-admission.js';
import { GroupAnnouncer } from './group-announcer.js';
import { GroupChanges, type OpenChange } from './group-changes.js';
import { settleJoinRequests } from './group-joins.store.js';
import { GroupLimits } from './group-limits.js';
import {
  countMembers,
  lockMembers,
  patchMember,
  removeMember,
  setOwner,
  storeJoinedSeq,
  type MemberPatch,
} from './group.store.js';
import { mayActOn, type GroupChanged, type GroupRole } from './group.types.js';

type Told = Omit<GroupChanged, 'topic' | 'actor'>;

/** Who is in a group, and as what. */
@Injectable()
export class GroupMembersService {
  constructor(
    private readonly changes: GroupChanges,
    private readonly announcer: GroupAnnouncer,
    private readonly limits: GroupLimits,
    private readonly relations: RelationService,
  ) {}

  /**
   * Adds users; those who are members already stay as they are. One who comes back starts clean, an earlier mute included.
   * @throws AppError VALIDATION_FAILED (unknown or disabled users, each in the details), CONFLICT (group is full)
   */
  async add(actor: Actor, topic: Topic, uids: readonly UserId[]): Promise<AddedMembers> {
    const wanted = [...new Set(uids)];
    const result = await this.changes.run(
      actor,
      topic,
      (change) => this.addInside(change, actor, wanted),
      (tx, { added }) => storeJoinedSeq(tx, topic, added),
      wanted,
    );
    if (result.added.length > 0) await this.announcer.joined(actor, topic, result.added);
    return result;
  }

  /**
   * Takes a member out: himself (leave) or another one (kick). Repeating a stored call confirms it again and succeeds.
   * @throws AppError SHORT_STATE_UNAVAILABLE when it is stored and not every node has confirmed it yet
   */
  async remove(actor: Actor, topic: Topic, target: UserId): Promise<void> {
    const kind = target === actor.uid ? 'left' : 'kicked';
    const first = await this.changes.run(
      actor,
      topic,
      (change) => (kind === 'left' ? leave(change, actor) : kick(change, target)),
      undefined,
      [target],
    );
    await this.announcer.removed(actor, topic, [target], kind, first);
  }

  /**
   * Changes a member's role (owner only), mute or nickname.
   * @param patch `mutedUntil` null or in the past ends a mute
   */
  async patch(actor: Actor, topic: Topic, target: UserId, patch: MemberPatch): Promise<void> {
    await this.changes.run(actor, topic, (change) => patchInside(change, actor, target, patch));
    await this.announcer.changed(actor, topic, ...patchEvents(target, patch));
  }

  /** Hands the group over to another member; the owner until now stays as an admin. */
  async transfer(actor: Actor, topic: Topic, target: UserId): Promise<void> {
    await this.changes.run(actor, topic, async (change) => {
      await change.permit('transfer');
      await activeRole(change, target);
      if (target === actor.uid) throw new AppError('CONFLICT', { message: 'You own this group already.' });
      const { tx, group } = change;
      await patchMember(tx, group.id, actor.uid, { role: 'admin' });
      await patchMember(tx, group.id, target, { role: 'owner', mutedUntil: null });
      await setOwner(tx, group.id, target);
      await change.audit('group.transfer', { uid: target });
    });
    await this.announcer.changed(actor, topic, { kind: 'transferred', targets: [target] });
  }

  private async addInside(change: OpenChange, actor: Actor, uids: readonly UserId[]): Promise<AddedMembers> {
    await change.permit('addMembers');
    const refusing = await this.relations.refusingToBeAdded(change.tx, actor.uid, uids);
    if (refusing.size > 0) throw refusedError(uids, refusing, 'does not want to be added by you');
    const result = await admit(change, uids, this.limits.maxMembers(actor.tenant), false);
    await settleJoinRequests(change.tx, change.group.id, result.added, 'approved', actor.uid);
    await change.audit('group.members.add', { count: result.added.length, uids: result.added.slice(0, 200) });
    return result;
  }
}

/** @returns false when he had left, or was kicked, before */
async function leave(change: OpenChange, actor: Actor): Promise<boolean> {
  const { tx, group } = change;
  const row = (await lockMembers(tx, group.id, [actor.uid])).get(actor.uid);
  if (row && row.state !== 'active') return false;
  await change.permit('leave');
  await removeMember(tx, group.id, actor.uid, 'left');
  await change.audit('group.leave');
  await countMembers(tx, group.id, -1);
  return true;
}

/** @returns false when he was out before. @throws AppError NOT_FOUND when he never was a member */
async function kick(change: OpenChange, target: UserId): Promise<boolean> {
  const role = await change.permit('kick');
  const { tx, group } = change;
  const row = (await lockMembers(tx, group.id, [target])).get(target);
  if (!row) throw new AppError('NOT_FOUND', { message: 'This user is no member of the group.' });
  if (row.state !== 'active') return false;
  if (!mayActOn(role, row.role)) throw new AppError('FORBIDDEN');
  await removeMember(tx, group.id, target, 'kicked');
  await change.audit('group.kick', { uid: target });
  await countMembers(tx, group.id, -1);
  return true;
}

async function activeRole({ tx, group }: OpenChange, uid: UserId): Promise<GroupRole> {
  const row = (await lockMembers(tx, group.id, [uid])).get(uid);
  if (row?.state !== 'active') throw new AppError('NOT_FOUND', { message: 'This user is no member of the group.' });
  return row.role;
}

async function patchInside(change: OpenChange, actor: Actor, target: UserId, patch: MemberPatch): Promise<void> {
  const ownNickname = target === actor.uid && patch.role === undefined && patch.mutedUntil === undefined;
  if (ownNickname) await change.permit('editOwnNickname');
  else {
    const mine =
      patch.role !== undefined
        ? await change.permit('setRole')
        : await change.permit(patch.mutedUntil !== undefined ? 'mute' : 'editNickname');
    if (!mayActOn(mine, await activeRole(change, target))) throw new AppError('FORBIDDEN');
  }
  await patchMember(change.tx, change.group.id, target, patch);
  const { role, mutedUntil, nickname } = patch;
  await change.audit('group.member', { uid: target, role, mutedUntil, nickname: nickname !== undefined });
}

function patchEvents(target: UserId, { role, mutedUntil, nickname }: MemberPatch): Told[] {
  const targets = [target];
  const events: Told[] = [];
  if (role !== undefined) events.push({ kind: 'role', targets, patch: { role } });
  if (mutedUntil !== undefined) {
    const until = mutedUntil !== null && mutedUntil.getTime() > Date.now() ? mutedUntil.toISOString() : null;
    events.push({ kind: until ? 'muted' : 'unmuted', targets, patch: { mutedUntil: until } });
  }
  if (nickname !== undefined) events.push({ kind: 'profile', targets, patch: { nickname } });
  return events;
}
