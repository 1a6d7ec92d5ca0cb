import { ApiProperty, ApiPropertyOptional, OmitType } from '@nestjs/swagger';
import { ArrayMaxSize, ArrayMinSize, IsArray, IsInt, IsObject, IsString, Max, MaxLength, Min } from 'class-validator';
import {
  FreeJson,
  IfGiven,
  IsSeq,
  IsTopicName,
  MaxJsonBytes,
  PageLimit,
  QueryNumber,
} from '../../../platform/http/rules.js';
import type { Seq, Topic } from '../../../platform/ids/ids.js';
import { MAX_CONTENT_BYTES } from '../content.js';

/** Payload of `message:recall` and `message:remove`. */
export class SeqDto {
  @ApiProperty({ example: 'grp_1' })
  @IsTopicName()
  topic: Topic;

  @ApiProperty()
  @IsSeq()
  @Min(1)
  seq: Seq;
}

/** Payload of `message:edit`. */
export class EditDto extends SeqDto {
  @ApiProperty({ type: Object, description: 'By the type of the message that is edited.' })
  @FreeJson()
  @IsObject()
  @MaxJsonBytes(MAX_CONTENT_BYTES)
  content: object;

  @ApiProperty({ description: 'The version that was edited; another one answers CONFLICT.' })
  @IsInt()
  @Min(1)
  @Max(2 ** 31 - 1)
  version: number;
}

/** Body of `PATCH /v1/im/topics/{topic}/messages/{seq}`. */
export class EditBodyDto extends OmitType(EditDto, ['topic', 'seq'] as const) {}

/** Body of `POST /v1/admin/tenants/{tenant}/topics/{topic}/messages/{seq}/block`. */
export class BlockBodyDto {
  @ApiPropertyOptional({ maxLength: 200, description: 'Kept in the audit log; nobody in the group sees it.' })
  @IfGiven()
  @IsString()
  @MaxLength(200)
  reason?: string;
}

/** Payload of `message:delete` (for oneself only). */
export class HideDto {
  @ApiProperty({ example: 'grp_1' })
  @IsTopicName()
  topic: Topic;

  @ApiProperty({ type: [Number], minItems: 1, maxItems: 100 })
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(100)
  @IsSeq({ each: true })
  seqs: Seq[];
}

/** Body of `POST /v1/im/topics/{topic}/messages/hide`. */
export class HideBodyDto extends OmitType(HideDto, ['topic'] as const) {}

/** Payload of `topic:changes`. */
export class ChangesDto {
  @ApiProperty({ example: 'grp_1' })
  @IsTopicName()
  topic: Topic;

  @ApiProperty({ description: 'Exclusive.' })
  @IsSeq()
  afterChange: Seq;

  @PageLimit(200, 100)
  limit: number = 100;
}

/** Query of `GET /v1/im/topics/{topic}/changes`. */
export class ChangesQueryDto {
  @ApiProperty()
  @QueryNumber()
  @IsSeq()
  afterChange: Seq;

  @QueryNumber()
  @PageLimit(200, 100)
  limit: number = 100;
}

export class ChangeAnswerDto {
  @ApiProperty()
  version: number;
  @ApiProperty({ format: 'date-time' })
  updatedAt: string;
}

export class ChangedMessageDto {
  @ApiProperty()
  topic: string;
  @ApiProperty()
  seq: number;
  @ApiProperty()
  version: number;
  @ApiProperty({ enum: ['normal', 'recalled', 'deleted', 'blocked'] })
  status: string;
  @ApiPropertyOptional({ type: Object, nullable: true })
  content?: object | null;
  @ApiProperty({ format: 'date-time' })
  updatedAt: string;
  @ApiProperty({ description: "The topic's change number, without holes." })
  change: number;
}

export class ChangesPageDto {
  @ApiProperty({ type: [ChangedMessageDto] })
  changes: ChangedMessageDto[];
  @ApiProperty()
  nextAfterChange: number;
  @ApiProperty()
  lastChange: number;
  @ApiProperty()
  hasMore: boolean;
}
