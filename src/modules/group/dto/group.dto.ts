import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { ArrayMaxSize, ArrayMinSize, IsArray, IsBoolean, IsIn } from 'class-validator';
import { IfGiven, IsLine, IsPicture } from '../../../platform/http/rules.js';
import { EachIsId, IsId, IsText, IsTimeOrNull } from './rules.js';
import type { WhoMay } from '../group.entity.js';

const MAX_UIDS = 1_000;
const WHO_MAY = ['admins', 'members'] as const;
const ASSIGNABLE_ROLES = ['admin', 'member'] as const;

export class CreateGroupDto {
  @ApiProperty({ description: '1 to 128 characters' })
  @IsLine(1, 128)
  name: string;

  @ApiPropertyOptional({ description: 'object key or https:// or http:// URL of the picture, at most 512 characters' })
  @IfGiven()
  @IsPicture(512)
  avatar?: string;

  @ApiPropertyOptional({ description: 'at most 1024 characters' })
  @IfGiven()
  @IsText(1024)
  intro?: string;

  @ApiPropertyOptional({ type: [String], description: `whom to add at once, at most ${MAX_UIDS}` })
  @IfGiven()
  @IsArray()
  @ArrayMaxSize(MAX_UIDS)
  @EachIsId()
  memberUids?: string[];
}

export class PatchGroupDto {
  @ApiPropertyOptional({ description: '1 to 128 characters' })
  @IfGiven()
  @IsLine(1, 128)
  name?: string;

  @ApiPropertyOptional({ description: 'object key or https:// or http:// URL of the picture, at most 512 characters' })
  @IfGiven()
  @IsPicture(512)
  avatar?: string;

  @ApiPropertyOptional({ description: 'at most 1024 characters' })
  @IfGiven()
  @IsText(1024)
  intro?: string;
}

export class PatchGroupSettingsDto {
  @ApiPropertyOptional({ description: 'true: only the owner and the admins may send' })
  @IfGiven()
  @IsBoolean()
  muteAll?: boolean;

  @ApiPropertyOptional({ description: 'true: requests to join wait for an admin' })
  @IfGiven()
  @IsBoolean()
  joinApproval?: boolean;

  @ApiPropertyOptional({ description: 'true: members may read what was sent before they joined' })
  @IfGiven()
  @IsBoolean()
  historyForNewMembers?: boolean;

  @ApiPropertyOptional({ enum: WHO_MAY })
  @IfGiven()
  @IsIn(WHO_MAY)
  whoMayInvite?: WhoMay;

  @ApiPropertyOptional({ enum: WHO_MAY })
  @IfGiven()
  @IsIn(WHO_MAY)
  whoMayAnnounce?: WhoMay;
}

export class AddMembersDto {
  @ApiProperty({ type: [String], description: `1 to ${MAX_UIDS} ids; those who are members already are skipped` })
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(MAX_UIDS)
  @EachIsId()
  uids: string[];
}

export class PatchMemberDto {
  @ApiPropertyOptional({ enum: ASSIGNABLE_ROLES, description: 'the owner changes it' })
  @IfGiven()
  @IsIn(ASSIGNABLE_ROLES)
  role?: (typeof ASSIGNABLE_ROLES)[number];

  @ApiPropertyOptional({ type: String, nullable: true, description: 'ISO 8601 UTC; null ends a mute' })
  @IfGiven()
  @IsTimeOrNull()
  mutedUntil?: string | null;

  @ApiPropertyOptional({ description: 'name in this group, at most 64 characters; empty removes it' })
  @IfGiven()
  @IsLine(0, 64)
  nickname?: string;
}

export class TransferGroupDto {
  @ApiProperty({ example: '2', description: 'the new owner; must be a member' })
  @IsId()
  uid: string;
}
