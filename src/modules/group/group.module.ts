import { Module } from '@nestjs/common';
import { PresenceModule } from '../presence/presence.module.js';
import { TopicModule } from '../topic/topic.module.js';
import { UserModule } from '../user/user.module.js';
import { AccessInvalidation } from './access-invalidation.js';
import { GroupAnnouncer } from './group-announcer.js';
import { GroupChanges } from './group-changes.js';
import { GroupController } from './group.controller.js';
import { GroupLifeService } from './group-life.service.js';
import { GroupLimits } from './group-limits.js';
import { GroupMembersService } from './group-members.service.js';
import { GroupReads } from './group-reads.js';
import { GroupAccessCache } from './group.redis.js';
import { GroupService } from './group.service.js';
import { MemberCursors } from './member-cursor.js';
import { MemberList } from './member-list.js';

@Module({
  imports: [PresenceModule, TopicModule, UserModule],
  controllers: [GroupController],
  providers: [
    GroupAccessCache,
    GroupService,
    AccessInvalidation,
    GroupAnnouncer,
    GroupLimits,
    GroupChanges,
    GroupLifeService,
    GroupMembersService,
    GroupReads,
    MemberCursors,
    MemberList,
  ],
  exports: [GroupService],
})
export class GroupModule {}
