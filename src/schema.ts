import { GroupEntity, GroupMemberEntity, GroupSettingsEntity } from './modules/group/group.entity.js';
import { TopicSeqEntity } from './modules/topic/topic.entity.js';
import { TopicSeq1764000000110 } from './migrations/tenant/0010-topic-seq.js';
import { Groups1764000000120 } from './migrations/tenant/0011-groups.js';
import { GroupSettings1764000000130 } from './migrations/tenant/0012-group-settings.js';
import { GroupMembers1764000000140 } from './migrations/tenant/0013-group-members.js';
import { RefreshTokenEntity } from './modules/auth/refresh-token.entity.js';
import { SessionEntity } from './modules/auth/session.entity.js';
import { FriendEntity } from './modules/relation/friend.entity.js';
import { TenantEntity } from './modules/tenant/tenant.entity.js';
import { UserEntity } from './modules/user/user.entity.js';
import { IdempotencyKeys1764000000400 } from './migrations/tenant/0040-idempotency-keys.js';
import { CreateTenants1763000000010 } from './migrations/control/0001-tenants.js';
import { SysConfig1763000000020 } from './migrations/control/0002-sys-config.js';
import { DictTypes1763000000030 } from './migrations/control/0003-dict-types.js';
import { DictData1763000000040 } from './migrations/control/0004-dict-data.js';
import { ThirdPartyConfigs1763000000050 } from './migrations/control/0005-third-party.js';
import { AdminAuditLogs1763000000060 } from './migrations/control/0006-admin-audit.js';
import { CreateUsers1764000000010 } from './migrations/tenant/0001-users.js';
import { CreateSessions1764000000020 } from './migrations/tenant/0002-sessions.js';
import { CreateRefreshTokens1764000000030 } from './migrations/tenant/0003-refresh-tokens.js';
import { CreateFriends1764000000040 } from './migrations/tenant/0004-friends.js';
import { GroupMessages1764000000200 } from './migrations/tenant/0020-group-messages.js';
import { MessageChanges1764000000210 } from './migrations/tenant/0021-message-changes.js';
import { MessageHides1764000000220 } from './migrations/tenant/0022-message-hides.js';
import { StandingSessions1764000000280 } from './migrations/tenant/0028-standing-sessions.js';
import { AuditLogs1764000000230 } from './migrations/tenant/0023-audit-logs.js';
import { TopicCursors1764000000240 } from './migrations/tenant/0024-topic-cursors.js';
import { MessageHidesByMessage1764000000250 } from './migrations/tenant/0025-message-hides-by-message.js';
import { UserPrivacy1764000000600 } from './migrations/tenant/0060-user-privacy.js';
import { Blocks1764000000610 } from './migrations/tenant/0061-blocks.js';
import { Follows1764000000620 } from './migrations/tenant/0062-follows.js';
import { FriendRequests1764000000630 } from './migrations/tenant/0063-friend-requests.js';
import { Captchas1764000000450 } from './migrations/tenant/0045-captchas.js';
import { ActionTokens1764000000460 } from './migrations/tenant/0046-action-tokens.js';
import { UserPhones1764000000470 } from './migrations/tenant/0047-user-phones.js';
import { GroupBans1764000000640 } from './migrations/tenant/0064-group-bans.js';
import { GroupJoinRequests1764000000650 } from './migrations/tenant/0065-group-join-requests.js';
import { GroupInvites1764000000660 } from './migrations/tenant/0066-group-invites.js';
import { GroupAnnouncements1764000000670 } from './migrations/tenant/0067-group-announcements.js';
import { GroupAnnouncementVersions1764000000680 } from './migrations/tenant/0068-group-announcement-versions.js';
import { GroupAnnouncementConfirms1764000000690 } from './migrations/tenant/0069-group-announcement-confirms.js';
import { Messages1764000000800 } from './migrations/tenant/0080-messages.js';
import { DirectChats1764000000810 } from './migrations/tenant/0081-direct-chats.js';
import { TopicSettings1764000000820 } from './migrations/tenant/0082-topic-settings.js';
import { Favorites1764000000830 } from './migrations/tenant/0083-favorites.js';
import type { Schemas } from './platform/platform.module.js';

/** All tables of the product: entities stay with their modules, the order of the migrations is decided here. */
export const schemas: Schemas = {
  control: {
    entities: [TenantEntity],
    migrations: [
      CreateTenants1763000000010,
      SysConfig1763000000020,
      DictTypes1763000000030,
      DictData1763000000040,
      ThirdPartyConfigs1763000000050,
      AdminAuditLogs1763000000060,
    ],
  },
  tenant: {
    entities: [
      UserEntity,
      SessionEntity,
      RefreshTokenEntity,
      FriendEntity,
      TopicSeqEntity,
      GroupEntity,
      GroupSettingsEntity,
      GroupMemberEntity,
    ],
    migrations: [
      CreateUsers1764000000010,
      CreateSessions1764000000020,
      CreateRefreshTokens1764000000030,
      CreateFriends1764000000040,
      TopicSeq1764000000110,
      Groups1764000000120,
      GroupSettings1764000000130,
      GroupMembers1764000000140,
      GroupMessages1764000000200,
      MessageChanges1764000000210,
      MessageHides1764000000220,
      AuditLogs1764000000230,
      TopicCursors1764000000240,
      MessageHidesByMessage1764000000250,
      StandingSessions1764000000280,
      IdempotencyKeys1764000000400,
      Captchas1764000000450,
      ActionTokens1764000000460,
      UserPhones1764000000470,
      Messages1764000000800,
      DirectChats1764000000810,
      TopicSettings1764000000820,
      Favorites1764000000830,
      UserPrivacy1764000000600,
      Blocks1764000000610,
      Follows1764000000620,
      FriendRequests1764000000630,
      GroupBans1764000000640,
      GroupJoinRequests1764000000650,
      GroupInvites1764000000660,
      GroupAnnouncements1764000000670,
      GroupAnnouncementVersions1764000000680,
      GroupAnnouncementConfirms1764000000690,
    ],
  },
};
