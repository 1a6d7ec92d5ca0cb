import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { AppError } from '../../platform/errors/app-error.js';
import type { Actor, Topic, UserId } from '../../platform/ids/ids.js';
import { groupTopic } from '../../platform/ids/topic.js';
import { TenantDataSources } from '../../platform/mysql/tenant-data-sources.js';
import { TopicService } from '../topic/topic.service.js';
import { AuditService } from '../audit/audit.service.js';
import { RelationService } from '../relation/relation.service.js';
import { selectMemberUids } from './access.store.js';
import { GroupAnnouncer } from './group-announcer.js';
import { GroupChanges } from './group-changes.js';
import { GroupEntity, GroupSettingsEntity } from './group.entity.js';
import { GroupLimits } from './group-limits.js';
import { refusedError, unusableError } from './group-admission.js';
import { countMembers, insertMembers, markDismissed, unusableUsers } from './group.store.js';
import type { NewGroup, ProfilePatch, SettingsPatch } from './group.views.js';

/** The life of a group: made, renamed, set up, dismissed. */
@Injectable()
export class GroupLifeService {
  constructor(
    private readonly databases: TenantDataSources,
    private readonly topics: TopicService,
    private readonly changes: GroupChanges,
    private readonly announcer: GroupAnnouncer,
    private readonly limits: GroupLimits,
    private readonly relations: RelationService,
    private readonly audit: AuditService,
  ) {}

  /**
   * Makes a group with the actor as its owner.
   * @throws AppError VALIDATION_FAILED (unknown or disabled users, each in the details), CONFLICT (too many members)
   */
  async create(actor: Actor, wanted: NewGroup): Promise<{ groupId: string; topic: Topic }> {
    const others = [...new Set(wanted.memberUids ?? [])].filter((uid) => uid !== actor.uid);
    const most = this.limits.maxMembers(actor.tenant);
    if (others.length + 1 > most) {
      throw new AppError('CONFLICT', { message: `A group holds at most ${most} members here.` });
    }
    const groupId = await this.databases.run(actor.tenant, (db) =>
      db.transaction((tx) => this.insert(tx, actor, wanted, others)),
    );
    const topic = groupTopic(groupId);
    // Somebody may have asked for this group before it was there: "missing" is cached, too.
    await this.announcer.joined(actor, topic, [actor.uid, ...others]);
    return { groupId, topic };
  }

  async patchProfile(actor: Actor, topic: Topic, wanted: ProfilePatch): Promise<void> {
    const patch = given(wanted);
    await this.changes.run(actor, topic, async ({ tx, group, permit, audit }) => {
      await permit('editProfile');
      await audit('group.profile', { fields: Object.keys(patch) });
      await tx.update(GroupEntity, { id: group.id }, patch);
    });
    await this.announcer.changed(actor, topic, { kind: 'profile', patch });
  }

  async patchSettings(actor: Actor, topic: Topic, wanted: SettingsPatch): Promise<void> {
    const patch = given(wanted);
    const columns = Object.fromEntries(
      Object.entries(patch).map(([name, value]) => [name, typeof value === 'boolean' ? Number(value) : value]),
    );
    await this.changes.run(actor, topic, async ({ tx, group, permit, audit }) => {
      await permit('editSettings');
      await audit('group.settings', patch);
      await tx.update(GroupSettingsEntity, { groupId: group.id }, columns);
    });
    await this.announcer.changed(actor, topic, { kind: 'settings', patch });
  }

  /**
   * Ends a group for good; its owner may. Repeating a stored call confirms it again and succeeds.
   * @throws AppError SHORT_STATE_UNAVAILABLE when it is stored and not every node has confirmed it yet
   */
  async dismiss(actor: Actor, topic: Topic): Promise<void> {
    const { first, members } = await this.changes.run(actor, topic, async ({ tx, group, permit, audit }) => {
      const first = group.state !== 'dismissed' || group.ownerUid !== actor.uid;
      if (first) {
        await permit('dismiss');
        await markDismissed(tx, group.id);
        await audit('group.dismiss');
      }
      return { first, members: await selectMemberUids((sql, values) => tx.query(sql, [...values]), topic) };
    });
    await this.announcer.dismissed(actor, topic, members, first);
  }

  private async insert(tx: EntityManager, actor: Actor, wanted: NewGroup, others: UserId[]): Promise<string> {
    const unusable = new Set(await unusableUsers(tx, others));
    if (unusable.size > 0) throw unusableError('memberUids', wanted.memberUids ?? [], unusable);
    const refusing = await this.relations.refusingToBeAdded(tx, actor.uid, others);
    if (refusing.size > 0) throw refusedError(wanted.memberUids ?? [], refusing, 'does not want to be added by you');
    const { name, avatar = '', intro = '' } = wanted;
    const inserted = await tx.insert(GroupEntity, { name, avatar, intro, ownerUid: actor.uid });
    const groupId = String(inserted.identifiers[0].id);
    await tx.insert(GroupSettingsEntity, { groupId });
    await insertMembers(tx, groupId, [actor.uid], 'owner');
    await insertMembers(tx, groupId, others, 'member');
    await countMembers(tx, groupId, others.length + 1);
    await this.topics.create(tx, groupTopic(groupId));
    const entry = { actor: actor.uid, action: 'group.create', target: groupTopic(groupId) };
    await this.audit.record(tx, { ...entry, detail: { members: others.length + 1 } });
    return groupId;
  }
}

/** Without the fields that the caller left out. */
function given(patch: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined));
}
