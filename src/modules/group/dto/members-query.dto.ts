import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn } from 'class-validator';
import { PageQuery } from '../../../platform/http/page-query.js';
import { GROUP_ROLES, type GroupRole } from '../group.types.js';
import { IfGiven, IsLine } from '../../../platform/http/rules.js';

const STATUSES = ['active', 'muted'] as const;

export class MembersQuery extends PageQuery {
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
