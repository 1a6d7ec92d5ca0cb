import { SetMetadata } from '@nestjs/common';

/** Budgets of a user. */
export type UserBudget = 'send' | 'read' | 'write';
/**
 * Budgets of a client address, for calls that come before there is a user. `unauthenticated` is spent by calls that were
 * refused for their token, and by nothing else.
 */
export type AddressBudget = 'auth' | 'enterprise' | 'refresh' | 'unauthenticated';

export const SPENDS = 'trident:spends';

/**
 * Which budget a REST call spends, on a handler or a controller. Without it a GET spends `read`, any other call of a user
 * `write`, and a call that needs no token `auth`.
 */
export const Spends = (budget: UserBudget | AddressBudget | 'nothing'): MethodDecorator & ClassDecorator =>
  SetMetadata(SPENDS, budget);
