import { Body, Controller, HttpCode, Param, Post, Req } from '@nestjs/common';
import { ApiBearerAuth, ApiNoContentResponse, ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import type { Request } from 'express';
import { CurrentActor, Public } from '../../platform/http/actor.js';
import { ClientAddress } from '../../platform/http/client-address.js';
import type { Actor } from '../../platform/ids/ids.js';
import { CaptchaService } from '../captcha/captcha.service.js';
import { bearerOf } from './auth.guard.js';
import { CodeRequests } from './code-requests.js';
import {
  ActionTokenView,
  BindPhoneDto,
  CaptchaDto,
  CaptchaView,
  ResetPasswordDto,
  VerifyCaptchaDto,
} from './dto/captcha.dto.js';
import { PasswordResetService } from './password-reset.service.js';
import { PhoneService } from './phone.service.js';

/** What is done with a phone and the code that was sent to it. */
@ApiTags('auth')
@Controller('v1/auth')
export class PhoneController {
  constructor(
    private readonly requests: CodeRequests,
    private readonly captchas: CaptchaService,
    private readonly phones: PhoneService,
    private readonly resets: PasswordResetService,
  ) {}

  @Public()
  @Post('captchas')
  @HttpCode(200)
  @ApiOperation({
    summary: 'Send a code to a phone',
    description:
      'Answers the same whether or not the phone belongs to anybody. Within a minute the same client gets the same captcha again and no further message. The scene bind needs an access token.',
  })
  @ApiOkResponse({ type: CaptchaView })
  send(@Body() body: CaptchaDto, @ClientAddress() address: string, @Req() request: Request): Promise<CaptchaView> {
    if (body.scene === 'bind') return this.requests.forUser(bearerOf(request.headers.authorization), body, address);
    return this.requests.forStranger(body, address);
  }

  @Public()
  @Post('captchas/:id/verify')
  @HttpCode(200)
  @ApiParam({ name: 'id', type: String })
  @ApiOperation({ summary: 'Exchange a code for an action token; five tries' })
  @ApiOkResponse({ type: ActionTokenView })
  async verify(@Param('id') id: string, @Body() body: VerifyCaptchaDto): Promise<ActionTokenView> {
    return { actionToken: await this.captchas.verify(id, body.code) };
  }

  @Public()
  @Post('password/reset')
  @HttpCode(204)
  @ApiOperation({ summary: "A new password for the account of a verified phone; ends all the account's sessions" })
  @ApiNoContentResponse()
  reset(@Body() body: ResetPasswordDto): Promise<void> {
    return this.resets.reset(body);
  }

  @Post('phone')
  @HttpCode(204)
  @ApiBearerAuth()
  @ApiOperation({ summary: 'Make a verified phone the one of this account, in place of an earlier one' })
  @ApiNoContentResponse()
  bind(@CurrentActor() actor: Actor, @Body() body: BindPhoneDto): Promise<void> {
    return this.phones.bind(actor, body.actionToken, body.password);
  }
}
