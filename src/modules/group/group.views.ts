import type { Topic, UserId } from '../../platform/ids/ids.js';
import type { GroupEntity, GroupSettingsEntity, WhoMay } from './group.entity.js';
import type { GroupRole } from './group.types.js';

export interface NewGroup {
  readonly name: string;
  readonly avatar?: string;
  readonly intro?: string;
  /** Whom to add at once, besides the one who makes it. */
  readonly memberUids?: readonly UserId[];
}

export interface ProfilePatch {
  readonly name?: string;
  readonly avatar?: string;
  readonly intro?: string;
}

export interface GroupProfile {
  readonly groupId: string;
  readonly topic: Topic;
  readonly name: string;
  readonly avatar: string;
  readonly intro: string;
  readonly type: string;
  readonly ownerUid: UserId;
  readonly memberCount: number;
  /** Of the one who asks. */
  readonly role: GroupRole;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface GroupSettings {
  readonly muteAll: boolean;
  readonly joinApproval: boolean;
  readonly historyForNewMembers: boolean;
  readonly whoMayInvite: WhoMay;
  readonly whoMayAnnounce: WhoMay;
}

export type SettingsPatch = Partial<GroupSettings>;

export function toProfile(topic: Topic, row: GroupEntity, role: GroupRole): GroupProfile {
  return {
    groupId: row.id,
    topic,
    name: row.name,
    avatar: row.avatar,
    intro: row.intro,
    type: row.type,
    ownerUid: row.ownerUid as UserId,
    memberCount: row.memberCount,
    role,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}

export function toSettings(row: GroupSettingsEntity): GroupSettings {
  return {
    muteAll: row.muteAll === 1,
    joinApproval: row.joinApproval === 1,
    historyForNewMembers: row.historyForNewMembers === 1,
    whoMayInvite: row.whoMayInvite,
    whoMayAnnounce: row.whoMayAnnounce,
  };
}
