import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsInt, IsString, Max, MaxLength, Min } from 'class-validator';
import { IfGiven, QueryNumber } from './rules.js';

/** Query of a list that is read page by page. */
export class PageQuery {
  @ApiPropertyOptional({ description: '`nextCursor` of the page before' })
  @IfGiven()
  @IsString()
  @MaxLength(200)
  cursor?: string;

  @ApiPropertyOptional({ type: Number, minimum: 1, maximum: 200, default: 50 })
  @QueryNumber()
  @IsInt()
  @Min(1)
  @Max(200)
  limit: number = 50;
}
