import { ApiProperty, ApiPropertyOptional, OmitType } from '@nestjs/swagger';
import { ArrayMaxSize, ArrayUnique, IsArray, IsBoolean, IsIn, IsObject, IsOptional, Min } from 'class-validator';
import { FreeJson, IfGiven, IsClientId, IsId, IsSeq, IsTopicName, MaxJsonBytes } from '../../../platform/http/rules.js';
import type { Seq, Topic, UserId } from '../../../platform/ids/ids.js';
import { CLIENT_MESSAGE_TYPES, MAX_CONTENT_BYTES } from '../content.js';

type ClientMessageType = (typeof CLIENT_MESSAGE_TYPES)[number];

/** Payload of `message:send`. */
export class SendDto {
  @ApiProperty({ example: 'grp_1' })
  @IsTopicName()
  topic: Topic;

  @ApiProperty({
    description: 'Made by the client, unique for its sender and topic; a retry repeats it.',
    maxLength: 64,
  })
  @IsClientId()
  clientMsgId: string;

  @ApiProperty({ enum: CLIENT_MESSAGE_TYPES })
  @IsIn(CLIENT_MESSAGE_TYPES)
  type: ClientMessageType;

  @ApiProperty({ type: Object, example: { text: 'hello' }, description: 'By type; at most 32 KiB of JSON.' })
  @FreeJson()
  @IsObject()
  @MaxJsonBytes(MAX_CONTENT_BYTES)
  content: object;

  @ApiPropertyOptional({ type: Object, nullable: true, example: { quote: 7 } })
  @FreeJson()
  @IsOptional()
  @IsObject()
  @MaxJsonBytes(MAX_CONTENT_BYTES)
  head?: object | null;

  @ApiPropertyOptional({ type: [String], maxItems: 200 })
  @IfGiven()
  @IsArray()
  @ArrayMaxSize(200)
  @ArrayUnique()
  @IsId({ each: true })
  mentionedUserIds?: UserId[];

  @ApiPropertyOptional()
  @IfGiven()
  @IsBoolean()
  mentionAll?: boolean;

  @ApiPropertyOptional({ nullable: true, type: Number })
  @IsOptional()
  @IsSeq()
  @Min(1)
  replySeq?: Seq | null;

  @ApiPropertyOptional({ nullable: true, type: Number })
  @IsOptional()
  @IsSeq()
  @Min(1)
  rootSeq?: Seq | null;
}

/** Body of `POST /v1/im/topics/{topic}/messages`. */
export class SendBodyDto extends OmitType(SendDto, ['topic'] as const) {}

export class SendAnswerDto {
  @ApiProperty()
  seq: number;
  @ApiProperty()
  messageId: string;
  @ApiProperty({ format: 'date-time' })
  createdAt: string;
  @ApiProperty({ description: 'The message was stored by an earlier attempt with the same id.' })
  duplicate: boolean;
}
