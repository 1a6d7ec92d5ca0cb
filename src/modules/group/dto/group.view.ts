import { ApiProperty } from '@nestjs/swagger';
import { GROUP_ROLES, type GroupRole } from '../group.types.js';
import { UserView } from '../../user/user.types.js';

export class CreatedGroupView {
  @ApiProperty({ example: '1' })
  groupId: string;

  @ApiProperty({ example: 'grp_1' })
  topic: string;
}

export class GroupView extends CreatedGroupView {
  @ApiProperty()
  name: string;

  @ApiProperty({ description: 'empty when there is none' })
  avatar: string;

  @ApiProperty({ description: 'empty when there is none' })
  intro: string;

  @ApiProperty({ example: 'group' })
  type: string;

  @ApiProperty({ example: '1' })
  ownerUid: string;

  @ApiProperty()
  memberCount: number;

  @ApiProperty({ enum: GROUP_ROLES, description: 'of the one who asks' })
  role: GroupRole;

  @ApiProperty({ format: 'date-time' })
  createdAt: string;

  @ApiProperty({ format: 'date-time' })
  updatedAt: string;
}

export class GroupSettingsView {
  @ApiProperty()
  muteAll: boolean;

  @ApiProperty()
  joinApproval: boolean;

  @ApiProperty()
  historyForNewMembers: boolean;

  @ApiProperty({ enum: ['admins', 'members'] })
  whoMayInvite: string;

  @ApiProperty({ enum: ['admins', 'members'] })
  whoMayAnnounce: string;
}

export class AddedMembersView {
  @ApiProperty({ type: [String], description: 'those who were no members before' })
  added: readonly string[];

  @ApiProperty()
  memberCount: number;
}

export class MemberView {
  @ApiProperty({ example: '1' })
  uid: string;

  @ApiProperty({ enum: GROUP_ROLES })
  role: GroupRole;

  @ApiProperty({ description: 'in this group; empty when there is none' })
  nickname: string;

  @ApiProperty({ type: String, format: 'date-time', nullable: true, description: 'null = not muted' })
  mutedUntil: string | null;

  @ApiProperty({ format: 'date-time' })
  joinedAt: string;

  @ApiProperty({ type: UserView, nullable: true })
  user: UserView | null;
}

export class MembersView {
  @ApiProperty({ type: [MemberView], description: 'in the order role, time of joining, uid' })
  items: readonly MemberView[];

  @ApiProperty({ type: String, nullable: true, description: 'null on the last page' })
  nextCursor: string | null;

  @ApiProperty({ description: 'all that the filters match' })
  total: number;
}
