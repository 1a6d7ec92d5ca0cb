import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsIn, IsInt, IsString, Max, MaxLength, Min } from 'class-validator';
import { IfGiven, IsLine } from '../../../platform/http/dto-rules.js';
import { IsId } from '../../../platform/http/rules.js';
import type { RequestDirection } from '../relation.types.js';

const DIRECTIONS = ['incoming', 'outgoing'] as const;

export class ListQuery {
  @ApiPropertyOptional({ description: '`nextCursor` of the page before' })
  @IfGiven()
  @IsString()
  @MaxLength(200)
  cursor?: string;

  @ApiPropertyOptional({ type: Number, minimum: 1, maximum: 200, default: 50 })
  @Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value,
  )
  @IsInt()
  @Min(1)
  @Max(200)
  limit: number = 50;
}

export class RequestsQuery extends ListQuery {
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
