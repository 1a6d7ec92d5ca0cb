import { ApiPropertyOptional } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsIn, IsInt, IsString, Max, MaxLength, Min } from 'class-validator';
import { GROUP_ROLES, type GroupRole } from '../group.types.js';
import { IfGiven, IsLine } from './rules.js';

const STATUSES = ['active', 'muted'] as const;

export class MembersQuery {
  @ApiPropertyOptional({ description: '`nextCursor` of the page before' })
  @IfGiven()
  @IsString()
  @MaxLength(200)
  cursor?: string;

  @ApiPropertyOptional({ type: Number, minimum: 1, maximum: 200, default: 50 })
  @Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value,
  )
  @IsInt()
  @Min(1)
  @Max(200)
  limit: number = 50;

  @ApiPropertyOptional({ enum: GROUP_ROLES })
  @IfGiven()
  @IsIn(GROUP_ROLES)
  role?: GroupRole;

  @ApiPropertyOptional({ enum: STATUSES, default: 'active', description: '`muted`: only those who are muted now' })
  @IfGiven()
  @IsIn(STATUSES)
  status?: (typeof STATUSES)[number];

  @ApiPropertyOptional({ description: 'beginning of the name, 1 to 64 characters' })
  @IfGiven()
  @IsLine(1, 64)
  q?: string;
}
