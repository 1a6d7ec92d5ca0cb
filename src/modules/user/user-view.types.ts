import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { GENDERS } from './user.types.js';

/** What everybody in the tenant may see of a user, as it goes out. */
export class UserView {
  @ApiProperty({ example: '1', description: 'decimal id' })
  uid: string;

  @ApiProperty()
  nickname: string;

  @ApiProperty({ description: 'empty when there is none' })
  avatar: string;

  @ApiProperty({ description: 'empty when there is none' })
  signature: string;

  @ApiPropertyOptional({ enum: GENDERS })
  gender?: string;

  @ApiPropertyOptional()
  region?: string;
}
