import { Module } from '@nestjs/common';
import { AuditModule } from '../audit/audit.module.js';
import { PresenceModule } from '../presence/presence.module.js';
import { RelationModule } from '../relation/relation.module.js';
import { TopicModule } from '../topic/topic.module.js';
import { UserModule } from '../user/user.module.js';
import { AccessInvalidation } from './access-invalidation.js';
import { GroupAnnouncementsController } from './group-announcements.controller.js';
import { GroupAnnouncementsService } from './group-announcements.service.js';
import { GroupAnnouncer } from './group-announcer.js';
import { GroupBansService } from './group-bans.service.js';
import { GroupChanges } from './group-changes.js';
import { GroupEntry } from './group-entry.js';
import { GroupInvitesService } from './group-invites.service.js';
import { GroupController } from './group.controller.js';
import { GroupJoinsController } from './group-joins.controller.js';
import { GroupJoinRequestsService } from './group-join-requests.service.js';
import { GroupLifeService } from './group-life.service.js';
import { GroupLimits } from './group-limits.js';
import { GroupMembersService } from './group-members.service.js';
import { GroupReads } from './group-reads.js';
import { GroupAccessCache, InviteCache, MemberPageCache, UserTopicsCache } from './group.redis.js';
import { GroupService } from './group.service.js';
import { MemberCursors } from './member-cursor.js';
import { MemberList } from './member-list.js';
import { UnknownOutcomes } from './unknown-outcomes.js';

@Module({
  imports: [AuditModule, PresenceModule, RelationModule, TopicModule, UserModule],
  controllers: [GroupController, GroupJoinsController, GroupAnnouncementsController],
  providers: [
    GroupAccessCache,
    UserTopicsCache,
    InviteCache,
    MemberPageCache,
    GroupService,
    AccessInvalidation,
    GroupAnnouncer,
    GroupLimits,
    UnknownOutcomes,
    GroupChanges,
    GroupLifeService,
    GroupMembersService,
    GroupBansService,
    GroupEntry,
    GroupJoinRequestsService,
    GroupInvitesService,
    GroupAnnouncementsService,
    GroupReads,
    MemberCursors,
    MemberList,
  ],
  exports: [GroupService],
})
export class GroupModule {}
