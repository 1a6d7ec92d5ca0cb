import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { JwtModule } from '@nestjs/jwt';
import { AuditModule } from '../audit/audit.module.js';
import { CaptchaModule } from '../captcha/captcha.module.js';
import { LimitsModule } from '../limits/limits.module.js';
import { PresenceModule } from '../presence/presence.module.js';
import { UserModule } from '../user/user.module.js';
import { AccessTokens } from './access-tokens.js';
import { AuthController } from './auth.controller.js';
import { AuthGuard } from './auth.guard.js';
import { AuthRedis } from './auth.redis.js';
import { AuthService } from './auth.service.js';
import { CodeLoginService } from './code-login.service.js';
import { CodeRequests } from './code-requests.js';
import { LoginGuard } from './login-guard.js';
import { LoginTokens } from './login-tokens.js';
import { LoginService } from './login.service.js';
import { LoginTriesRedis } from './login-tries.redis.js';
import { PasswordResetService } from './password-reset.service.js';
import { Passwords } from './passwords.js';
import { PhoneController } from './phone.controller.js';
import { PhoneService } from './phone.service.js';
import { RegistrationService } from './registration.service.js';
import { Revocations } from './revocations.js';
import { SessionService } from './session.service.js';
import { SessionStore } from './session.store.js';
import { UserAdminController } from './user-admin.controller.js';
import { UserStatusService } from './user-status.service.js';

@Module({
  imports: [JwtModule.register({}), AuditModule, CaptchaModule, LimitsModule, UserModule, PresenceModule],
  controllers: [AuthController, PhoneController, UserAdminController],
  providers: [
    AccessTokens,
    AuthRedis,
    AuthService,
    CodeLoginService,
    CodeRequests,
    LoginGuard,
    LoginService,
    LoginTokens,
    LoginTriesRedis,
    PasswordResetService,
    Passwords,
    PhoneService,
    RegistrationService,
    Revocations,
    SessionService,
    SessionStore,
    UserStatusService,
    { provide: APP_GUARD, useClass: AuthGuard },
  ],
  exports: [AuthService],
})
export class AuthModule {}
