import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { JwtModule } from '@nestjs/jwt';
import { PresenceModule } from '../presence/presence.module.js';
import { UserModule } from '../user/user.module.js';
import { AccessTokens } from './access-tokens.js';
import { AuthController } from './auth.controller.js';
import { AuthGuard } from './auth.guard.js';
import { AuthRedis } from './auth.redis.js';
import { AuthService } from './auth.service.js';
import { LoginGuard } from './login-guard.js';
import { LoginService } from './login.service.js';
import { LoginTriesRedis } from './login-tries.redis.js';
import { Passwords } from './passwords.js';
import { Revocations } from './revocations.js';
import { SessionService } from './session.service.js';
import { SessionStore } from './session.store.js';

@Module({
  imports: [JwtModule.register({}), UserModule, PresenceModule],
  controllers: [AuthController],
  providers: [
    AccessTokens,
    AuthRedis,
    AuthService,
    LoginGuard,
    LoginService,
    LoginTriesRedis,
    Passwords,
    Revocations,
    SessionService,
    SessionStore,
    { provide: APP_GUARD, useClass: AuthGuard },
  ],
  exports: [AuthService],
})
export class AuthModule {}
