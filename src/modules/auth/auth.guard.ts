import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import { AppError } from '../../platform/errors/app-error.js';
import { IS_PUBLIC, setActor } from '../../platform/http/actor.js';
import { addressOf } from '../../platform/http/client-address.js';
import { LimitsService } from '../limits/limits.service.js';
import type { Actor } from '../../platform/ids/ids.js';
import { AuthService } from './auth.service.js';

/** Every REST call needs `Authorization: Bearer <access token>`, unless its handler or controller is `@Public()`. */
@Injectable()
export class AuthGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly auth: AuthService,
    private readonly limits: LimitsService,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (context.getType() !== 'http') return true;
    if (this.reflector.getAllAndOverride<boolean>(IS_PUBLIC, [context.getHandler(), context.getClass()])) return true;
    const request = context.switchToHttp().getRequest<Request>();
    setActor(request, await this.actorOf(request));
    return true;
  }

  /**
   * Only what is refused is counted against the address: whoever is logged in is not stopped by strangers behind it.
   * @throws AppError RATE_LIMITED in place of the refusal, when too many calls of the address were refused
   */
  private async actorOf(request: Request): Promise<Actor> {
    try {
      const { actor } = await this.auth.authenticate(bearerOf(request.headers.authorization));
      return actor;
    } catch (error) {
      if (error instanceof AppError && error.status === 401) {
        await this.limits.spendOfAddress(addressOf(request), 'unauthenticated');
      }
      throw error;
    }
  }
}

/** @throws AppError UNAUTHENTICATED */
export function bearerOf(header: string | undefined): string {
  const token = /^Bearer +([^\s,]+)$/i.exec(header ?? '')?.[1];
  if (!token)
    throw new AppError('UNAUTHENTICATED', { message: 'Send the header Authorization: Bearer <access token>.' });
  return token;
}
