import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsInt, Max, Min, ValidateIf } from 'class-validator';
import { PageQuery } from '../../../platform/http/page-query.js';
import { IfGiven, IsLine } from '../../../platform/http/rules.js';
import { IsFilled, IsId, IsText, IsTimeOrNull } from './rules.js';

const MAX_CONTENT = 4000;
const MAX_INVITE_SECONDS = 30 * 86_400;

/** Absent or null. */
const IfSet = (): PropertyDecorator => ValidateIf((_object, value) => value !== undefined && value !== null);

export class ConfirmsQuery extends PageQuery {
  @ApiPropertyOptional({ enum: ['confirmed', 'waiting'], default: 'confirmed' })
  @IfGiven()
  @IsIn(['confirmed', 'waiting'])
  state: 'confirmed' | 'waiting' = 'confirmed';
}

export class BanDto {
  @ApiProperty({ example: '2' })
  @IsId()
  uid: string;

  @ApiPropertyOptional({ type: String, nullable: true, description: 'ISO 8601 UTC; absent or null = for good' })
  @IfGiven()
  @IsTimeOrNull()
  until?: string | null;

  @ApiPropertyOptional({ description: 'at most 200 characters' })
  @IfGiven()
  @IsLine(0, 200)
  reason?: string;
}

export class JoinDto {
  @ApiPropertyOptional({ description: 'a word to those who decide, at most 200 characters' })
  @IfGiven()
  @IsLine(0, 200)
  message?: string;
}

export class InviteDto {
  @ApiPropertyOptional({ type: Number, nullable: true, minimum: 1, maximum: 10_000, description: 'null = any number' })
  @IfSet()
  @IsInt()
  @Min(1)
  @Max(10_000)
  maxUses?: number | null;

  @ApiPropertyOptional({ type: Number, minimum: 60, maximum: MAX_INVITE_SECONDS, description: 'seconds; 7 days' })
  @IsInt()
  @Min(60)
  @Max(MAX_INVITE_SECONDS)
  expiresIn: number = 7 * 86_400;
}

export class AnnounceDto {
  @ApiPropertyOptional({ description: 'at most 128 characters' })
  @IfGiven()
  @IsLine(0, 128)
  title?: string;

  @ApiProperty({ description: `1 to ${MAX_CONTENT} characters` })
  @IsText(MAX_CONTENT)
  @IsFilled()
  content: string;
}

export class PatchAnnouncementDto {
  @ApiPropertyOptional({ description: 'at most 128 characters' })
  @IfGiven()
  @IsLine(0, 128)
  title?: string;

  @ApiPropertyOptional({ description: `1 to ${MAX_CONTENT} characters` })
  @IfGiven()
  @IsText(MAX_CONTENT)
  @IsFilled()
  content?: string;

  @ApiPropertyOptional({ type: Number, description: 'the version that was edited; another one is CONFLICT' })
  @IfGiven()
  @IsInt()
  @Min(1)
  @Max(2 ** 31 - 1)
  version?: number;
}
