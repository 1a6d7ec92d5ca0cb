import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsBoolean, IsIn, IsNotEmpty, IsString, Length, Matches, MaxLength, ValidateIf } from 'class-validator';
import { IfGiven, IsLine, NotBesides } from '../../../platform/http/rules.js';
import { ACCOUNT } from '../../user/user.types.js';
import { DEVICES, MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH } from '../auth.types.js';

export class EnterpriseDto {
  @ApiProperty({ example: 'demo', description: 'the enterprise code' })
  @IsString()
  @Length(1, 64)
  code: string;
}

class DeviceDto {
  @ApiPropertyOptional({ description: 'the client names its installation, 1 to 128 visible ASCII characters' })
  @IfGiven()
  @IsString()
  @Matches(/^[\x21-\x7e]{1,128}$/)
  deviceId?: string;

  @ApiPropertyOptional({ enum: DEVICES })
  @IfGiven()
  @IsIn(DEVICES)
  device?: string;
}

/** Account and password are looked at when they are the way to log in, or when they are given all the same. */
const isByPassword = (body: LoginDto, value: unknown): boolean => body.actionToken === undefined || value !== undefined;

export class LoginDto extends DeviceDto {
  @ApiProperty({ description: 'from POST /v1/auth/enterprise' })
  @IsString()
  @Length(1, 128)
  loginToken: string;

  @ApiPropertyOptional({ example: 'alice', description: 'with password; not with actionToken' })
  @NotBesides('actionToken')
  @ValidateIf(isByPassword)
  @IsString()
  @Length(1, 64)
  account?: string;

  @ApiPropertyOptional({ example: 'demo-pass-1' })
  @NotBesides('actionToken')
  @ValidateIf(isByPassword)
  @IsString()
  @IsNotEmpty()
  @MaxLength(MAX_PASSWORD_LENGTH)
  password?: string;

  @ApiPropertyOptional({ description: 'of the scene login: instead of account and password' })
  @IfGiven()
  @IsString()
  @Length(1, 128)
  actionToken?: string;

  @ApiPropertyOptional({
    description: 'an action token of the scene login, beside the password: when many have failed on this account',
  })
  @NotBesides('actionToken')
  @IfGiven()
  @IsString()
  @Length(1, 128)
  proofToken?: string;
}

export class RegisterDto extends DeviceDto {
  @ApiProperty({ description: 'from POST /v1/auth/enterprise' })
  @IsString()
  @Length(1, 128)
  loginToken: string;

  @ApiProperty({ description: '3 to 64 of A-Z a-z 0-9 _ . @ -; compared case-sensitively' })
  @IsString()
  @Matches(ACCOUNT, { message: 'must be 3 to 64 of the characters A-Z a-z 0-9 _ . @ -' })
  account: string;

  @ApiProperty({ minLength: MIN_PASSWORD_LENGTH, maxLength: MAX_PASSWORD_LENGTH })
  @IsString()
  @Length(MIN_PASSWORD_LENGTH, MAX_PASSWORD_LENGTH)
  password: string;

  @ApiProperty({ description: '1 to 64 characters, no control characters' })
  @IsLine(1, 64)
  nickname: string;

  @ApiPropertyOptional({ description: 'proof of a verified code; needed where the tenant asks for one' })
  @IfGiven()
  @IsString()
  @Length(1, 128)
  actionToken?: string;
}

export class RefreshDto {
  @ApiProperty()
  @IsString()
  @Length(1, 128)
  refreshToken: string;
}

export class LogoutDto {
  @ApiPropertyOptional({ description: 'true ends all sessions of the user, not only this one' })
  @IfGiven()
  @IsBoolean()
  all?: boolean;
}

export class LoginTicketView {
  @ApiProperty({ example: '1' })
  tenantId: string;

  @ApiProperty({ example: 'Demo' })
  tenantName: string;

  @ApiProperty()
  loginToken: string;

  @ApiProperty({ description: 'seconds', example: 600 })
  expiresIn: number;
}

export class TokenPairView {
  @ApiProperty({ example: '1' })
  uid: string;

  @ApiProperty({ description: 'JWT, for Authorization: Bearer and the socket handshake' })
  accessToken: string;

  @ApiProperty({ description: 'for POST /v1/auth/refresh; used once' })
  refreshToken: string;

  @ApiProperty({ description: 'life of the access token in seconds', example: 3600 })
  expiresIn: number;
}

export class SessionView {
  @ApiProperty({ example: '1' })
  sessionId: string;

  @ApiProperty({ type: String, nullable: true })
  deviceId: string | null;

  @ApiProperty({ type: String, enum: DEVICES, nullable: true })
  device: string | null;

  @ApiProperty({ format: 'date-time' })
  createdAt: string;

  @ApiProperty({ format: 'date-time', description: 'last login or refresh' })
  lastUsedAt: string;

  @ApiProperty({ description: 'is it the session that asks?' })
  current: boolean;
}

export class SessionsView {
  @ApiProperty({ type: [SessionView] })
  items: SessionView[];
}
