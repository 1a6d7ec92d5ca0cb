import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import { actorOf, IS_PUBLIC } from '../../platform/http/actor.js';
import { addressOf } from '../../platform/http/client-address.js';
import { SPENDS, type AddressBudget, type UserBudget } from '../../platform/http/spends.js';
import { LimitsService } from './limits.service.js';

type Spending = UserBudget | AddressBudget | 'nothing';

const OF_USER: readonly Spending[] = ['send', 'read', 'write'];
const READING = ['GET', 'HEAD'];

/** Every REST call spends a budget: after it is known who asks, before anything is looked at or done. */
@Injectable()
export class LimitsInterceptor implements NestInterceptor {
  constructor(
    private readonly reflector: Reflector,
    private readonly limits: LimitsService,
  ) {}

  async intercept(context: ExecutionContext, next: CallHandler) {
    if (context.getType() === 'http') await this.spend(context, context.switchToHttp().getRequest<Request>());
    return next.handle();
  }

  private spend(context: ExecutionContext, request: Request): void | Promise<void> {
    const places = [context.getHandler(), context.getClass()];
    const isPublic = this.reflector.getAllAndOverride<boolean>(IS_PUBLIC, places) === true;
    const budget =
      this.reflector.getAllAndOverride<Spending | undefined>(SPENDS, places) ??
      (isPublic ? 'auth' : READING.includes(request.method) ? 'read' : 'write');
    if (budget === 'nothing') return;
    if (OF_USER.includes(budget)) return this.limits.spend(actorOf(request), budget as UserBudget);
    return this.limits.spendOfAddress(addressOf(request), budget as AddressBudget);
  }
}
