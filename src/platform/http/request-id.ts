import { randomUUID } from 'node:crypto';
import type { NextFunction, Request, Response } from 'express';

const REQUEST_ID = Symbol('requestId');
type WithId = { [REQUEST_ID]?: string };

/** Gives every request an id of our own (a client's header is not trusted) and tells it in `X-Request-Id`. */
export function requestId(request: Request, response: Response, next: NextFunction): void {
  const id = randomUUID();
  (request as WithId)[REQUEST_ID] = id;
  response.setHeader('X-Request-Id', id);
  next();
}

export function requestIdOf(request: Request): string {
  return (request as WithId)[REQUEST_ID] ?? '';
}
