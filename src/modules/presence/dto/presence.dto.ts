import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { ArrayMaxSize, ArrayMinSize, IsArray } from 'class-validator';
import { IsId } from '../../../platform/http/rules.js';
import type { UserId } from '../../../platform/ids/ids.js';

const MAX_UIDS = 200;

export class UidsDto {
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(MAX_UIDS)
  @IsId({ each: true })
  uids: UserId[];
}

export class PresenceQueryDto {
  @ApiProperty({ type: String, description: `1 to ${MAX_UIDS} ids, separated by commas`, example: '1,2' })
  @Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? value.split(',') : value))
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(MAX_UIDS)
  @IsId({ each: true })
  uids: UserId[];
}

export class PresenceView {
  @ApiProperty({ example: '1' })
  uid: string;

  @ApiProperty({
    enum: ['online', 'offline', 'unknown', 'hidden'],
    description: 'unknown: Redis cannot say now; hidden: the user does not let the asker see it',
  })
  state: string;

  @ApiPropertyOptional({
    type: String,
    format: 'date-time',
    description: 'of a user who is offline, where he shows it',
  })
  lastSeenAt?: string;

  @ApiPropertyOptional({ type: [String], description: 'kinds of device that a user is online with' })
  devices?: readonly string[];
}

export class PresencesView {
  @ApiProperty({ type: [PresenceView], description: 'in the order asked for, each user once' })
  presences: PresenceView[];
}
