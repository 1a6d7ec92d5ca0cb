import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Transform, Type } from 'class-transformer';
import { ArrayMaxSize, ArrayMinSize, IsArray, IsIn, IsObject, IsOptional, ValidateNested } from 'class-validator';
import { IfGiven, IsId, IsLine, IsPicture } from '../../../platform/http/rules.js';
import { AUDIENCES, GENDERS, UserView, type Audience } from '../user.types.js';

const MAX_UIDS = 200;

export class UsersQuery {
  @ApiProperty({ type: String, description: `1 to ${MAX_UIDS} ids, separated by commas`, example: '1,2' })
  @Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? value.split(',') : value))
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(MAX_UIDS)
  @IsId({ each: true })
  uids: string[];
}

class PatchPrivacyDto {
  @ApiPropertyOptional({ enum: AUDIENCES, description: 'who sees whether you are online' })
  @IfGiven()
  @IsIn(AUDIENCES)
  presence?: Audience;

  @ApiPropertyOptional({ enum: AUDIENCES, description: 'who sees when you were here last' })
  @IfGiven()
  @IsIn(AUDIENCES)
  lastSeen?: Audience;

  @ApiPropertyOptional({ enum: AUDIENCES, description: 'who may add you to groups without asking' })
  @IfGiven()
  @IsIn(AUDIENCES)
  addToGroups?: Audience;
}

export class PatchMeDto {
  @ApiPropertyOptional({ description: '1 to 64 characters, no control characters' })
  @IfGiven()
  @IsLine(1, 64)
  nickname?: string;

  @ApiPropertyOptional({ description: 'object key or https:// or http:// URL of the picture, at most 512 characters' })
  @IfGiven()
  @IsPicture(512)
  avatar?: string;

  @ApiPropertyOptional({ description: 'at most 255 characters' })
  @IfGiven()
  @IsLine(0, 255)
  signature?: string;

  @ApiPropertyOptional({ enum: GENDERS, nullable: true, description: 'null removes it' })
  @IsOptional()
  @IsIn(GENDERS)
  gender?: string | null;

  @ApiPropertyOptional({ type: String, nullable: true, description: 'at most 64 characters; null removes it' })
  @IsOptional()
  @IsLine(1, 64)
  region?: string | null;

  @ApiPropertyOptional({ type: PatchPrivacyDto })
  @IfGiven()
  @IsObject()
  @ValidateNested()
  @Type(() => PatchPrivacyDto)
  privacy?: PatchPrivacyDto;
}

class PrivacyView {
  @ApiProperty({ enum: AUDIENCES })
  presence: Audience;

  @ApiProperty({ enum: AUDIENCES })
  lastSeen: Audience;

  @ApiProperty({ enum: AUDIENCES })
  addToGroups: Audience;
}

export class OwnUserView extends UserView {
  @ApiProperty({ description: 'the login name; told to its owner alone' })
  account: string;

  @ApiProperty({ type: PrivacyView })
  privacy: PrivacyView;
}

export class UsersView {
  @ApiProperty({ type: [UserView], description: 'in the order asked for; ids without a user are left out' })
  items: UserView[];
}
