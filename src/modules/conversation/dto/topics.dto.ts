import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsBoolean } from 'class-validator';
import { IfGiven, IsTopicName, PageLimit, QueryNumber } from '../../../platform/http/rules.js';
import type { Topic } from '../../../platform/ids/ids.js';
import { MessageDto } from '../../messaging/messaging.types.js';
import { UserView } from '../../user/user.types.js';

export class TopicsQueryDto {
  @ApiPropertyOptional({ description: 'nextCursor of the page before.' })
  @IfGiven()
  @IsTopicName()
  cursor?: Topic;

  @QueryNumber()
  @PageLimit(100, 50)
  limit: number = 50;
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
  @IfGiven()
  @IsBoolean()
  muted?: boolean;

  @ApiPropertyOptional()
  @IfGiven()
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
  @ApiPropertyOptional({ type: UserView, description: 'The other side of a private chat.' })
  peer?: UserView;
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

export class OwnUserDto extends UserView {
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
