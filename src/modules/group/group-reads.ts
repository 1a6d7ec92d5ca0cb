import { Injectable } from '@nestjs/common';
import { AppError } from '../../platform/errors/app-error.js';
import type { Actor, Topic } from '../../platform/ids/ids.js';
import { groupIdOf } from '../../platform/ids/topic.js';
import { TenantDataSources } from '../../platform/mysql/tenant-data-sources.js';
import { GroupEntity, GroupSettingsEntity } from './group.entity.js';
import { GroupService } from './group.service.js';
import type { GroupRole } from './group.types.js';
import { toProfile, toSettings, type GroupProfile, type GroupSettings } from './group.views.js';

/** What members read of a group itself. */
@Injectable()
export class GroupReads {
  constructor(
    private readonly databases: TenantDataSources,
    private readonly groups: GroupService,
  ) {}

  profile(actor: Actor, topic: Topic): Promise<GroupProfile> {
    return this.databases.run(actor.tenant, async (db) => {
      const access = await this.groups.permit(db, actor.uid, topic, 'read');
      const row = await db.of(GroupEntity, (rows) => rows.findOneBy({ id: groupIdOf(topic) }));
      if (!row) throw new AppError('NOT_MEMBER');
      return toProfile(topic, row, access.role as GroupRole);
    });
  }

  settings(actor: Actor, topic: Topic): Promise<GroupSettings> {
    return this.databases.run(actor.tenant, async (db) => {
      await this.groups.permit(db, actor.uid, topic, 'read');
      const row = await db.of(GroupSettingsEntity, (rows) => rows.findOneBy({ groupId: groupIdOf(topic) }));
      if (!row) throw new AppError('NOT_MEMBER');
      return toSettings(row);
    });
  }
}
