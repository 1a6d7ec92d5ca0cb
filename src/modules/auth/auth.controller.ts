import { Body, Controller, Delete, Get, HttpCode, Param, Post } from '@nestjs/common';
import {
  ApiBearerAuth,
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiTags,
} from '@nestjs/swagger';
import { AppError, invalid } from '../../platform/errors/app-error.js';
import { CurrentActor, Public } from '../../platform/http/actor.js';
import { ClientAddress } from '../../platform/http/client-address.js';
import { Spends } from '../../platform/http/spends.js';
import { isDecimalId, type Actor } from '../../platform/ids/ids.js';
import {
  EnterpriseDto,
  LoginDto,
  LoginTicketView,
  LogoutDto,
  RefreshDto,
  RegisterDto,
  SessionsView,
  TokenPairView,
} from './dto/auth.dto.js';
import { CodeLoginService } from './code-login.service.js';
import { LoginTokens } from './login-tokens.js';
import { LoginService } from './login.service.js';
import { RegistrationService } from './registration.service.js';
import { SessionService } from './session.service.js';

@ApiTags('auth')
@Controller('v1/auth')
export class AuthController {
  constructor(
    private readonly tokens: LoginTokens,
    private readonly registrations: RegistrationService,
    private readonly logins: LoginService,
    private readonly codeLogins: CodeLoginService,
    private readonly sessions: SessionService,
  ) {}

  @Public()
  @Spends('enterprise')
  @Post('enterprise')
  @HttpCode(200)
  @ApiOperation({ summary: 'The tenant of an enterprise code, and a login token for it' })
  @ApiOkResponse({ type: LoginTicketView })
  enterprise(@Body() body: EnterpriseDto): Promise<LoginTicketView> {
    return this.tokens.issue(body.code);
  }

  @Public()
  @Post('register')
  @ApiOperation({ summary: 'A new account, where the tenant lets people register themselves; logs in at once' })
  @ApiCreatedResponse({ type: TokenPairView })
  register(@Body() body: RegisterDto): Promise<TokenPairView> {
    return this.registrations.register(body);
  }

  @Public()
  @Post('login')
  @HttpCode(200)
  @ApiOperation({ summary: 'Log in by account and password, or by a code that was sent to the phone (actionToken)' })
  @ApiOkResponse({ type: TokenPairView })
  login(@Body() body: LoginDto, @ClientAddress() address: string): Promise<TokenPairView> {
    const { loginToken, account, password, actionToken, proofToken, deviceId, device } = body;
    if (actionToken !== undefined) return this.codeLogins.login({ loginToken, actionToken, deviceId, device });
    const byPassword = { loginToken, account: account!, password: password!, proofToken, deviceId, device };
    return this.logins.login(byPassword, address);
  }

  @Public()
  @Spends('refresh')
  @Post('refresh')
  @HttpCode(200)
  @ApiOperation({
    summary: 'Exchange the refresh token',
    description:
      'Each refresh token is exchanged once. A repetition within 10 s (a lost answer) gets the same successor; a later one is taken for stolen and ends the session.',
  })
  @ApiOkResponse({ type: TokenPairView })
  refresh(@Body() body: RefreshDto): Promise<TokenPairView> {
    return this.sessions.refresh(body.refreshToken);
  }

  @Post('logout')
  @HttpCode(204)
  @ApiBearerAuth()
  @ApiOperation({ summary: 'End this session, or all of the user; closes their sockets too' })
  @ApiNoContentResponse()
  async logout(@CurrentActor() actor: Actor, @Body() body: LogoutDto): Promise<void> {
    if (body.all) await this.sessions.revokeAll(actor, 'logout_all');
    else await this.sessions.revoke(actor, actor.sessionId, 'logout');
  }

  @Get('sessions')
  @ApiBearerAuth()
  @ApiOperation({ summary: 'Where the user is logged in' })
  @ApiOkResponse({ type: SessionsView })
  async list(@CurrentActor() actor: Actor): Promise<SessionsView> {
    const sessions = await this.sessions.list(actor);
    return {
      items: sessions.map(({ sessionId, deviceId, device, createdAt, lastUsedAt }) => ({
        sessionId,
        deviceId,
        device,
        createdAt: createdAt.toISOString(),
        lastUsedAt: lastUsedAt.toISOString(),
        current: sessionId === actor.sessionId,
      })),
    };
  }

  @Delete('sessions/:id')
  @HttpCode(204)
  @ApiBearerAuth()
  @ApiParam({ name: 'id', type: String })
  @ApiOperation({ summary: 'End one of the own sessions; closes its sockets too' })
  @ApiNoContentResponse()
  async remove(@CurrentActor() actor: Actor, @Param('id') id: string): Promise<void> {
    if (!isDecimalId(id)) throw invalid('id', 'must be a decimal id');
    if (!(await this.sessions.revoke(actor, id, 'removed'))) throw new AppError('NOT_FOUND');
  }
}
