import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import { invalid } from '../errors/app-error.js';
import { addressOf } from './client-address.js';

/** Who administers, as far as it is known: the token or the shell is shared, so the name is what he says of himself. */
export interface Operator {
  readonly name: string;
  /** Client address, or `cli`. */
  readonly source: string;
}

const NAME = /^[A-Za-z0-9_.@-]{1,64}$/;

/** Controller parameter: the operator. All share one token; `X-Operator` says who it is, for the audit log. */
export const CurrentOperator = createParamDecorator((_: unknown, context: ExecutionContext): Operator => {
  const request = context.switchToHttp().getRequest<Request>();
  const name = request.headers['x-operator'];
  if (name !== undefined && (typeof name !== 'string' || !NAME.test(name))) {
    throw invalid('X-Operator', 'must be 1 to 64 of A-Z a-z 0-9 _ . @ -');
  }
  return { name: name ?? 'admin', source: addressOf(request) };
});
