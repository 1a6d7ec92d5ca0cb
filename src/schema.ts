import { GroupEntity, GroupMemberEntity, GroupSettingsEntity } from './modules/group/group.entity.js';
import { TopicSeqEntity } from './modules/topic/topic.entity.js';
import { TopicSeq1764000000110 } from './migrations/tenant/0010-topic-seq.js';
import { Groups1764000000120 } from './migrations/tenant/0011-groups.js';
import { GroupSettings1764000000130 } from './migrations/tenant/0012-group-settings.js';
import { GroupMembers1764000000140 } from './migrations/tenant/0013-group-members.js';
import type { Schemas } from './platform/platform.module.js';

/** All tables of the product: entities stay with their modules, the order of the migrations is decided here. */
export const schemas: Schemas = {
  control: {
    entities: [],
    migrations: [],
  },
  tenant: {
    entities: [TopicSeqEntity, GroupEntity, GroupSettingsEntity, GroupMemberEntity],
    migrations: [TopicSeq1764000000110, Groups1764000000120, GroupSettings1764000000130, GroupMembers1764000000140],
  },
};
