import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Min } from 'class-validator';
import { IfGiven, IsId, IsSeq, IsTopicName, PageLimit, QueryNumber } from '../../../platform/http/rules.js';
import type { Seq, Topic } from '../../../platform/ids/ids.js';
import { MessageDto } from '../../messaging/messaging.types.js';

/** Query of `GET /v1/im/favorites`. */
export class FavoritesQueryDto {
  @ApiPropertyOptional({ description: 'nextCursor of the page before.' })
  @IfGiven()
  @IsId()
  cursor?: string;

  @QueryNumber()
  @PageLimit(100, 50)
  limit: number = 50;
}

/** Body of `POST /v1/im/favorites`. */
export class FavoriteBodyDto {
  @ApiProperty({ example: 'grp_1' })
  @IsTopicName()
  topic: Topic;

  @ApiProperty()
  @IsSeq()
  @Min(1)
  seq: Seq;
}

/** Query of `DELETE /v1/im/favorites`. */
export class FavoriteQueryDto {
  @ApiProperty({ example: 'grp_1' })
  @IsTopicName()
  topic: Topic;

  @ApiProperty()
  @QueryNumber()
  @IsSeq()
  @Min(1)
  seq: Seq;
}

export class FavoriteDto {
  @ApiProperty()
  id: string;
  @ApiProperty()
  topic: string;
  @ApiProperty()
  seq: number;
  @ApiProperty({ format: 'date-time' })
  createdAt: string;
  @ApiProperty({ type: MessageDto, nullable: true, description: 'Null when the user may not read it any more.' })
  message: MessageDto | null;
}

export class FavoritesDto {
  @ApiProperty({ type: [FavoriteDto], description: 'The newest first.' })
  items: FavoriteDto[];
  @ApiProperty({ type: String, nullable: true })
  nextCursor: string | null;
}
