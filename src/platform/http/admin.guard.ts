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
import { asTenantId } from '../ids/ids.js';
import { TokenBuckets, type Budget } from '../redis/token-buckets.js';
import { Public } from './actor.js';
import { addressGroup, addressOf } from './client-address.js';
import { Spends } from './spends.js';

/** Wrong tokens of one address. */
const GUESSES: Budget = { perSecond: 0.5, burst: 60 };

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Lets in who sends the operator's token (`ADMIN_TOKEN`); no user's token opens anything here. */
@Injectable()
export class AdminGuard implements CanActivate {
  private readonly expected: Buffer;

  constructor(
    @Inject(ENV) env: Pick<Env, 'ADMIN_TOKEN'>,
    private readonly buckets: TokenBuckets,
  ) {
    this.expected = digestOf(env.ADMIN_TOKEN);
  }

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<Request>();
    const token = /^Bearer +([^\s,]+)$/i.exec(request.headers.authorization ?? '')?.[1];
    if (token && timingSafeEqual(digestOf(token), this.expected)) return true;
    if (token) await this.countGuess(addressOf(request));
    throw new AppError('UNAUTHENTICATED', { message: 'Send the header Authorization: Bearer <admin token>.' });
  }

  /** Only wrong tokens are counted, and they are refused either way: the operator himself needs no Redis. */
  private async countGuess(address: string): Promise<void> {
    try {
      await this.buckets.take(asTenantId('0'), 'admin', addressGroup(address), GUESSES);
    } catch (error) {
      if (error instanceof AppError) throw error;
    }
  }
}

/** A controller of the administration interface: the admin token opens it, and nothing else does. */
export const Admin = (): ClassDecorator =>
  applyDecorators(Public(), Spends('nothing'), UseGuards(AdminGuard), ApiBearerAuth(), ApiTags('admin'));
