import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsInt, Max, Min, ValidateIf } from 'class-validator';
import { IsTopicName } from '../../../platform/http/rules.js';
import type { Topic } from '../../../platform/ids/ids.js';
import { MessageDto } from '../../messaging/messaging.types.js';

const given = (_: object, value: unknown): boolean => value !== undefined;

export class TopicsQueryDto {
  @ApiPropertyOptional({ description: 'nextCursor of the page before.' })
  @ValidateIf(given)
  @IsTopicName()
  cursor?: Topic;

  @ApiPropertyOptional({ default: 50, minimum: 1, maximum: 100 })
  @Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' && /^\d{1,4}$/.test(value) ? Number(value) : value,
  )
  @ValidateIf(given)
  @IsInt()
  @Min(1)
  @Max(100)
  limit: number = 50;
}

export class ConversationDto {
  @ApiProperty({ example: 'grp_1' })
  topic: string;
  @ApiProperty({ description: 'Name of the group.' })
  name: string;
  @ApiProperty({ description: 'A hint: numbers in flight included.' })
  lastSeq: number;
  @ApiProperty()
  readSeq: number;
  @ApiProperty({ description: 'Own, recalled, removed and hidden messages do not count.' })
  unread: number;
  @ApiProperty({ type: MessageDto, nullable: true })
  lastMessage: MessageDto | null;
}

export class ConversationsDto {
  @ApiProperty({ type: [ConversationDto] })
  items: ConversationDto[];
  @ApiProperty({ type: String, nullable: true })
  nextCursor: string | null;
}
