import { ApiProperty, ApiPropertyOptional, OmitType } from '@nestjs/swagger';

import { IfGiven, IsSeq, IsTopicName, PageLimit, QueryNumber } from '../../../platform/http/rules.js';
import type { Seq, Topic } from '../../../platform/ids/ids.js';
import { MessageDto } from '../messaging.types.js';

/** Payload of `message:history`. */
export class HistoryDto {
  @ApiProperty({ example: 'grp_1' })
  @IsTopicName()
  topic: Topic;

  @ApiPropertyOptional({ description: 'Exclusive; reads forward.' })
  @IfGiven()
  @IsSeq()
  afterSeq?: Seq;

  @ApiPropertyOptional({ description: 'Exclusive; reads backward.' })
  @IfGiven()
  @IsSeq()
  beforeSeq?: Seq;

  @PageLimit(200, 50)
  limit: number = 50;
}

/** Query of `GET /v1/im/topics/{topic}/messages`. */
export class HistoryQueryDto extends OmitType(HistoryDto, ['topic', 'afterSeq', 'beforeSeq', 'limit'] as const) {
  @ApiPropertyOptional()
  @QueryNumber()
  @IfGiven()
  @IsSeq()
  afterSeq?: Seq;

  @ApiPropertyOptional()
  @QueryNumber()
  @IfGiven()
  @IsSeq()
  beforeSeq?: Seq;

  @QueryNumber()
  @PageLimit(200, 50)
  limit: number = 50;
}

/** What a quoting message shows of the quoted one. */
export class QuoteDto {
  @ApiProperty()
  seq: number;
  @ApiProperty()
  from: string;
  @ApiProperty()
  type: string;
  @ApiProperty({ enum: ['normal', 'recalled', 'deleted', 'blocked'] })
  status: string;
  @ApiProperty()
  version: number;
  @ApiProperty({ type: String, nullable: true, description: 'The first 200 code points of a text, or a file name.' })
  text: string | null;
}

export class HistoryPageDto {
  @ApiProperty({ type: [MessageDto], description: 'Ascending by seq.' })
  messages: MessageDto[];
  @ApiProperty({ description: 'The last seq examined; read on from here.' })
  nextAfterSeq: number;
  @ApiProperty({ description: 'Every seq at or below it is stored or a hole for good.' })
  stableSeq: number;
  @ApiProperty({ description: 'A hint: numbers in flight included.' })
  lastSeq: number;
  @ApiProperty()
  hasMore: boolean;
  @ApiProperty({ enum: ['hot', 'mysql'] })
  source: string;
  @ApiPropertyOptional({ type: [QuoteDto], description: 'Absent when no message of the page quotes another one.' })
  quotes?: QuoteDto[];
}
