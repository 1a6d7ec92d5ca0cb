import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsString, MaxLength } from 'class-validator';
import { IfGiven, PageLimit, QueryNumber } from './rules.js';

/** Query of a list that is read page by page. */
export class PageQuery {
  @ApiPropertyOptional({ description: '`nextCursor` of the page before' })
  @IfGiven()
  @IsString()
  @MaxLength(200)
  cursor?: string;

  @QueryNumber()
  @PageLimit(200, 50)
  limit: number = 50;
}
