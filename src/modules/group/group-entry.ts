import { Injectable } from '@nestjs/common';
import { AppError } from '../../platform/errors/app-error.js';
import type { Actor, Topic, UserId } from '../../platform/ids/ids.js';
import { admit } from './group-admission.js';
import { GroupAnnouncer } from './group-announcer.js';
import { bannedOf } from './group-bans.store.js';
import { GroupChanges, type OpenChange } from './group-changes.js';
import { settleJoinRequests } from './group-joins.store.js';
import { GroupLimits } from './group-limits.js';
import { lockMembers, storeJoinedSeq } from './group.store.js';

export interface JoinAnswer {
  readonly topic: Topic;
  /** `pending`: somebody has to approve it. */
  readonly state: 'joined' | 'pending';
}

/** Lets somebody into a group who comes of his own accord. */
@Injectable()
export class GroupEntry {
  constructor(
    private readonly changes: GroupChanges,
    private readonly announcer: GroupAnnouncer,
    private readonly limits: GroupLimits,
  ) {}

  /** @param work answers whether the actor is let in, asks (false), or is in already (null) */
  async enter(actor: Actor, topic: Topic, work: (change: OpenChange) => Promise<boolean | null>): Promise<JoinAnswer> {
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
}

/** Is he no member? @throws AppError BLOCKED for one who is banned */
export async function isOutside({ tx, group }: OpenChange, uid: UserId): Promise<boolean> {
  if ((await lockMembers(tx, group.id, [uid])).get(uid)?.state === 'active') return false;
  if ((await bannedOf(tx, group.id, [uid])).size > 0) {
    throw new AppError('BLOCKED', { message: 'You are banned from this group.' });
  }
  return true;
}
