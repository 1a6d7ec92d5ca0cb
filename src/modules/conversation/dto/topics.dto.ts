import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsBoolean, IsInt, Max, Min, ValidateIf } from 'class-validator';
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

export class PeerDto {
  @ApiProperty()
  uid: string;
  @ApiProperty()
  nickname: string;
  @ApiProperty()
  avatar: string;
  @ApiProperty()
  signature: string;
  @ApiPropertyOptional()
  gender?: string;
  @ApiPropertyOptional()
  region?: string;
}

export class PeerPresenceDto {
  @ApiProperty()
  uid: string;
  @ApiProperty({ enum: ['online', 'offline', 'unknown', 'hidden'] })
  state: string;
  @ApiPropertyOptional({ format: 'date-time' })
  lastSeenAt?: string;
  @ApiPropertyOptional({ type: [String] })
  devices?: string[];
}

/** Answer of `PATCH /v1/im/topics/{topic}`. */
export class SettingsDto {
  @ApiProperty({ description: 'No notices of this conversation.' })
  muted: boolean;
  @ApiProperty()
  pinned: boolean;
}

/** Body of `PATCH /v1/im/topics/{topic}`. */
export class SettingsBodyDto {
  @ApiPropertyOptional()
  @ValidateIf(given)
  @IsBoolean()
  muted?: boolean;

  @ApiPropertyOptional()
  @ValidateIf(given)
  @IsBoolean()
  pinned?: boolean;
}

export class ConversationDto extends SettingsDto {
  @ApiProperty({ example: 'grp_1' })
  topic: string;
  @ApiProperty({ description: 'Name of the group, or nickname of the other side.' })
  name: string;
  @ApiProperty({ description: 'A hint: numbers in flight included.' })
  lastSeq: number;
  @ApiProperty()
  readSeq: number;
  @ApiProperty()
  receivedSeq: number;
  @ApiProperty({ description: 'Own, recalled, removed and hidden messages do not count.' })
  unread: number;
  @ApiProperty({ description: 'The user is mentioned in an unread message.' })
  mentioned: boolean;
  @ApiProperty({ type: MessageDto, nullable: true })
  lastMessage: MessageDto | null;
  @ApiPropertyOptional({ type: PeerDto, description: 'The other side of a private chat.' })
  peer?: PeerDto;
  @ApiPropertyOptional({ type: PeerPresenceDto })
  presence?: PeerPresenceDto;
}

export class ConversationsDto {
  @ApiProperty({ type: [ConversationDto] })
  items: ConversationDto[];
  @ApiProperty({ type: String, nullable: true })
  nextCursor: string | null;
}

export class UnreadTopicDto {
  @ApiProperty()
  topic: string;
  @ApiProperty()
  unread: number;
  @ApiProperty()
  mentioned: boolean;
}

export class UnreadDto {
  @ApiProperty()
  totalUnread: number;
  @ApiProperty({ type: [UnreadTopicDto], description: 'Conversations with unread messages.' })
  topics: UnreadTopicDto[];
}

export class OwnUserDto extends PeerDto {
  @ApiProperty()
  account: string;
}

export class BootstrapDto {
  @ApiProperty({ type: OwnUserDto })
  user: OwnUserDto;
  @ApiProperty({ type: ConversationsDto })
  topics: ConversationsDto;
  @ApiProperty()
  totalUnread: number;
  @ApiProperty({ format: 'date-time' })
  serverTime: string;
}
