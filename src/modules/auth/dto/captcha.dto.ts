import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsNotEmpty, IsString, Length, Matches, MaxLength, ValidateIf } from 'class-validator';
import { IfGiven } from '../../../platform/http/rules.js';
import { SCENES, type Scene } from '../../captcha/captcha.types.js';
import { MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH } from '../auth.types.js';

export class CaptchaDto {
  @ApiPropertyOptional({ description: 'from POST /v1/auth/enterprise; the scene bind needs an access token instead' })
  @ValidateIf((body: CaptchaDto) => body.scene !== 'bind' || body.loginToken !== undefined)
  @IsString()
  @Length(1, 128)
  loginToken?: string;

  @ApiProperty({ enum: SCENES, type: String, description: 'what the code is for, and for nothing else' })
  @IsIn(SCENES)
  scene: Scene;

  @ApiProperty({
    example: '+86 138 0000 0000',
    description: "without a country code it is one of the tenant's country",
  })
  @IsString()
  @Length(3, 40)
  phone: string;

  @ApiPropertyOptional({ description: 'the client names its installation, 1 to 128 visible ASCII characters' })
  @IfGiven()
  @IsString()
  @Matches(/^[\x21-\x7e]{1,128}$/)
  deviceId?: string;
}

export class VerifyCaptchaDto {
  @ApiProperty({ example: '123456' })
  @IsString()
  @Length(1, 16)
  code: string;
}

export class ResetPasswordDto {
  @ApiProperty({ description: 'from POST /v1/auth/enterprise' })
  @IsString()
  @Length(1, 128)
  loginToken: string;

  @ApiProperty({ description: 'of the scene reset' })
  @IsString()
  @Length(1, 128)
  actionToken: string;

  @ApiProperty({ minLength: MIN_PASSWORD_LENGTH, maxLength: MAX_PASSWORD_LENGTH })
  @IsString()
  @Length(MIN_PASSWORD_LENGTH, MAX_PASSWORD_LENGTH)
  password: string;
}

export class BindPhoneDto {
  @ApiProperty({ description: 'of the scene bind, verified by the same user' })
  @IsString()
  @Length(1, 128)
  actionToken: string;

  @ApiProperty({ description: 'the present password, once more' })
  @IsString()
  @IsNotEmpty()
  @MaxLength(MAX_PASSWORD_LENGTH)
  password: string;
}

export class CaptchaView {
  @ApiProperty({ example: '1.dC3mPzmXQ2C1yG0n5Yc0kA' })
  captchaId: string;

  @ApiProperty({ description: 'seconds until another code may be asked for', example: 60 })
  resendAfter: number;

  @ApiProperty({ description: 'seconds that this code is good for', example: 600 })
  expiresIn: number;
}

export class ActionTokenView {
  @ApiProperty({ description: 'good once, for the scene of the code' })
  actionToken: string;
}
