import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn } from 'class-validator';
import { PageQuery } from '../../../platform/http/page-query.js';
import { IfGiven, IsId, IsLine } from '../../../platform/http/rules.js';
import type { RequestDirection } from '../relation.types.js';

const DIRECTIONS = ['incoming', 'outgoing'] as const;

export class RequestsQuery extends PageQuery {
  @ApiPropertyOptional({ enum: DIRECTIONS, default: 'incoming' })
  @IfGiven()
  @IsIn(DIRECTIONS)
  direction: RequestDirection = 'incoming';
}

export class OtherUserDto {
  @ApiProperty({ example: '2' })
  @IsId()
  uid: string;
}

export class ContextQuery extends OtherUserDto {}

export class AskFriendDto extends OtherUserDto {
  @ApiPropertyOptional({ description: 'a word to the other, at most 200 characters' })
  @IfGiven()
  @IsLine(0, 200)
  message?: string;
}
