import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IfGiven, IsSeq, IsTopicName } from '../../../platform/http/rules.js';
import type { Seq, Topic } from '../../../platform/ids/ids.js';

/** Payload of `topic:read` and `topic:received`. */
export class CursorDto {
  @ApiProperty({ example: 'grp_1' })
  @IsTopicName()
  topic: Topic;

  @ApiProperty()
  @IsSeq()
  seq: Seq;
}

/** Body of `PUT /v1/im/topics/{topic}/cursor`. */
export class CursorBodyDto {
  @ApiPropertyOptional()
  @IfGiven()
  @IsSeq()
  readSeq?: Seq;

  @ApiPropertyOptional()
  @IfGiven()
  @IsSeq()
  receivedSeq?: Seq;
}

export class CursorAnswerDto {
  @ApiProperty()
  readSeq: number;
  @ApiProperty()
  receivedSeq: number;
}
