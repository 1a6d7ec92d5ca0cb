import { SetMetadata } from '@nestjs/common';
import type { UserBudget } from '../http/spends.js';

export const SOCKET_EVENT = 'trident:socket-event';

export interface SocketEventOptions {
  readonly event: string;
  readonly dto: new () => object;
  /** Which of the user's budgets it spends. */
  readonly budget: UserBudget;
}

/**
 * Marks a gateway method as the handler of a client event. The router spends one of the user's budget, validates the payload against `dto`, calls
 * `handler(client, payload)`, and acknowledges `{ ok: true, ...result }` or the error; a handler only returns or throws.
 */
export const SocketEvent = (event: string, dto: new () => object, budget: UserBudget = 'write'): MethodDecorator =>
  SetMetadata(SOCKET_EVENT, { event, dto, budget } satisfies SocketEventOptions);
