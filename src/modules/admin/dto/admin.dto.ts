import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  IsArray,
  IsBoolean,
  IsInt,
  IsObject,
  IsString,
  MaxLength,
  MinLength,
  ValidateNested,
} from 'class-validator';
import { FreeJson, IfGiven, IsId, MaxJsonBytes, PageLimit, QueryNumber } from '../../../platform/http/rules.js';

const FREE_OBJECT = { type: 'object', additionalProperties: true } as const;
const MAX_SETTINGS_BYTES = 32 * 1024;

export class NewTenantDto {
  @ApiProperty({ example: 'acme', description: 'Enterprise code.' })
  @IsString()
  @MaxLength(63)
  code: string;

  @ApiProperty()
  @IsString()
  @MinLength(1)
  @MaxLength(128)
  name: string;

  @ApiPropertyOptional({ description: 'Default: `im_<code>`.' })
  @IfGiven()
  @IsString()
  @MaxLength(64)
  dbName?: string;

  @ApiPropertyOptional()
  @IfGiven()
  @IsString()
  @MaxLength(255)
  dbHost?: string;

  @ApiPropertyOptional()
  @IfGiven()
  @IsInt()
  dbPort?: number;

  @ApiPropertyOptional()
  @IfGiven()
  @IsString()
  @MaxLength(64)
  dbUser?: string;

  @ApiPropertyOptional({
    example: 'env:ACME_DB_PASSWORD',
    description: 'Name of the variable that holds the password.',
  })
  @IfGiven()
  @IsString()
  @MaxLength(255)
  dbSecretRef?: string;

  @ApiPropertyOptional(FREE_OBJECT)
  @IfGiven()
  @FreeJson()
  @IsObject()
  @MaxJsonBytes(MAX_SETTINGS_BYTES)
  settings?: Record<string, unknown>;
}

export class ChangeTenantDto {
  @ApiPropertyOptional()
  @IfGiven()
  @IsString()
  @MinLength(1)
  @MaxLength(128)
  name?: string;

  @ApiPropertyOptional({
    ...FREE_OBJECT,
    description: 'By name; null takes a setting away, so that its default counts.',
  })
  @IfGiven()
  @FreeJson()
  @IsObject()
  @MaxJsonBytes(MAX_SETTINGS_BYTES)
  settings?: Record<string, unknown>;
}

export class TenantView {
  @ApiProperty({ type: String })
  tenantId: string;
  @ApiProperty()
  code: string;
  @ApiProperty()
  name: string;
  @ApiProperty({ enum: ['active', 'disabled'] })
  status: string;
  @ApiProperty({ ...FREE_OBJECT, description: 'In force, defaults filled in.' })
  settings: object;
  @ApiProperty({
    type: String,
    nullable: true,
    description: 'Null: its secret is not in the environment of this node.',
  })
  database: string | null;
}

export class TenantsView {
  @ApiProperty({ type: [TenantView] })
  items: TenantView[];
}

export class ConfigDto {
  @ApiProperty({ example: 'int', description: 'string, int, uint, float64, bool, date, datetime, json' })
  @IsString()
  @MinLength(1)
  @MaxLength(32)
  type: string;

  @ApiProperty()
  @IsString()
  @MaxLength(MAX_SETTINGS_BYTES)
  value: string;

  @ApiPropertyOptional()
  @IfGiven()
  @IsString()
  @MaxLength(100)
  name?: string;
}

export class ConfigView {
  @ApiProperty()
  group: string;
  @ApiProperty()
  key: string;
  @ApiProperty()
  name: string;
  @ApiProperty()
  type: string;
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    nullable: true,
    description: 'Of its type; secrets are blacked out.',
  })
  value: unknown;
}

export class ConfigsView {
  @ApiProperty({ type: [ConfigView] })
  items: ConfigView[];
}

export class DictItemDto {
  @ApiProperty()
  @IsString()
  @MinLength(1)
  @MaxLength(100)
  label: string;

  @ApiProperty()
  @IsString()
  @MaxLength(1000)
  value: string;

  @ApiPropertyOptional({ default: 'string' })
  @IfGiven()
  @IsString()
  @MaxLength(32)
  valueType?: string;

  @ApiPropertyOptional()
  @IfGiven()
  @IsBoolean()
  isDefault?: boolean;
}

export class DictDto {
  @ApiProperty()
  @IsString()
  @MaxLength(100)
  name: string;

  @ApiProperty({ type: [DictItemDto] })
  @IsArray()
  @ArrayMaxSize(1000)
  @IsObject({ each: true })
  @ValidateNested({ each: true })
  @Type(() => DictItemDto)
  items: DictItemDto[];
}

export class DictView {
  @ApiProperty()
  type: string;
  @ApiProperty({ type: 'array', items: FREE_OBJECT })
  items: object[];
}

export class DictsView {
  @ApiProperty({ type: [DictView] })
  items: DictView[];
}

export class ThirdPartyDto {
  @ApiProperty(FREE_OBJECT)
  @FreeJson()
  @IsObject()
  @MaxJsonBytes(MAX_SETTINGS_BYTES)
  settings: Record<string, unknown>;

  @ApiPropertyOptional({
    ...FREE_OBJECT,
    description: 'Texts by name, sealed at once and never shown; absent: those that are there stay.',
  })
  @IfGiven()
  @FreeJson()
  @IsObject()
  @MaxJsonBytes(MAX_SETTINGS_BYTES)
  secrets?: Record<string, string>;

  @ApiPropertyOptional({ default: true })
  @IfGiven()
  @IsBoolean()
  enabled?: boolean;
}

export class ThirdPartyView {
  @ApiProperty({ type: String })
  tenantId: string;
  @ApiProperty()
  kind: string;
  @ApiProperty()
  enabled: boolean;
  @ApiProperty(FREE_OBJECT)
  settings: object;
  @ApiProperty({ type: [String] })
  secretNames: readonly string[];
  @ApiProperty({ type: String, nullable: true })
  keyId: string | null;
}

export class ThirdPartiesView {
  @ApiProperty({ type: [ThirdPartyView] })
  items: ThirdPartyView[];
}

export class AuditQueryDto {
  @ApiPropertyOptional({ description: 'Exclusive; without it the newest.' })
  @IfGiven()
  @IsId()
  beforeId?: string;

  @QueryNumber()
  @PageLimit(200, 50)
  limit?: number;
}

export class AuditView {
  @ApiProperty({ type: String })
  id: string;
  @ApiProperty()
  operator: string;
  @ApiProperty()
  source: string;
  @ApiProperty()
  action: string;
  @ApiProperty()
  target: string;
  @ApiProperty({ ...FREE_OBJECT, nullable: true })
  detail: object | null;
  @ApiProperty()
  createdAt: string;
}

export class AuditPageView {
  @ApiProperty({ type: [AuditView] })
  items: AuditView[];
}

export class NodeView {
  @ApiProperty()
  nodeId: string;
  @ApiProperty({ description: 'Whether its lease stands. One that ended is shown until it is cleared up.' })
  living: boolean;
  @ApiProperty({ format: 'date-time' })
  leaseEndsAt: string;
  @ApiPropertyOptional({ format: 'date-time' })
  startedAt?: string;
  @ApiPropertyOptional({ description: 'Host and port that it listens on.' })
  address?: string;
  @ApiPropertyOptional()
  connections?: number;
  @ApiPropertyOptional({ description: 'Users that it has sockets of, over all tenants.' })
  users?: number;
}

export class NodesView {
  @ApiProperty({ type: [NodeView] })
  items: NodeView[];
  @ApiProperty({ description: 'The node that answers.' })
  nodeId: string;
}

export class ReloadView {
  @ApiProperty({ description: 'Whether this node has read everything now; the others were told.' })
  reloaded: boolean;
}

export class ResealView {
  @ApiProperty({ description: 'Rows that were sealed by an older key.' })
  rows: number;
}
