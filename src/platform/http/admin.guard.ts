import { createHash, timingSafeEqual } from 'node:crypto';
import {
  applyDecorators,
  Inject,
  Injectable,
  UseGuards,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { ApiBearerAuth, ApiTags } from '@nestjs/swagger';
import type { Request } from 'express';
import { ENV, type Env } from '../env/env.js';
import { AppError } from '../errors/app-error.js';
import { Public } from './actor.js';

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Lets in who sends the operator's token (`ADMIN_TOKEN`); no user's token opens anything here. */
@Injectable()
export class AdminGuard implements CanActivate {
  private readonly expected: Buffer;

  constructor(@Inject(ENV) env: Pick<Env, 'ADMIN_TOKEN'>) {
    this.expected = digestOf(env.ADMIN_TOKEN);
  }

  canActivate(context: ExecutionContext): boolean {
    const { authorization } = context.switchToHttp().getRequest<Request>().headers;
    const token = /^Bearer +([^\s,]+)$/i.exec(authorization ?? '')?.[1];
    if (token && timingSafeEqual(digestOf(token), this.expected)) return true;
    throw new AppError('UNAUTHENTICATED', { message: 'Send the header Authorization: Bearer <admin token>.' });
  }
}

/** A controller of the administration interface: the admin token opens it, and nothing else does. */
export const Admin = (): ClassDecorator =>
  applyDecorators(Public(), UseGuards(AdminGuard), ApiBearerAuth(), ApiTags('admin'));
