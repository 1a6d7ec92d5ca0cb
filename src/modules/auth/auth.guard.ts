import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import { AppError } from '../../platform/errors/app-error.js';
import { IS_PUBLIC, setActor } from '../../platform/http/actor.js';
import { AuthService } from './auth.service.js';

/** Every REST call needs `Authorization: Bearer <access token>`, unless its handler or controller is `@Public()`. */
@Injectable()
export class AuthGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly auth: AuthService,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (context.getType() !== 'http') return true;
    if (this.reflector.getAllAndOverride<boolean>(IS_PUBLIC, [context.getHandler(), context.getClass()])) return true;
    const request = context.switchToHttp().getRequest<Request>();
    const { actor } = await this.auth.authenticate(bearerOf(request.headers.authorization));
    setActor(request, actor);
    return true;
  }
}

/** @throws AppError UNAUTHENTICATED */
export function bearerOf(header: string | undefined): string {
  const token = /^Bearer +([^\s,]+)$/i.exec(header ?? '')?.[1];
  if (!token)
    throw new AppError('UNAUTHENTICATED', { message: 'Send the header Authorization: Bearer <access token>.' });
  return token;
}
