import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsInt, Max, Min, ValidateIf } from 'class-validator';
import { IsId, IsSeq, IsTopicName } from '../../../platform/http/rules.js';
import type { Seq, Topic } from '../../../platform/ids/ids.js';
import { MessageDto } from '../../messaging/messaging.types.js';

const given = (_: object, value: unknown): boolean => value !== undefined;
const fromQuery = Transform(({ value }: { value: unknown }) =>
  typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value,
);

/** Query of `GET /v1/im/favorites`. */
export class FavoritesQueryDto {
  @ApiPropertyOptional({ description: 'nextCursor of the page before.' })
  @ValidateIf(given)
  @IsId()
  cursor?: string;

  @ApiPropertyOptional({ default: 50, minimum: 1, maximum: 100 })
  @fromQuery
  @ValidateIf(given)
  @IsInt()
  @Min(1)
  @Max(100)
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
  @fromQuery
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
