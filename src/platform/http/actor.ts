import { createParamDecorator, SetMetadata, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import { AppError } from '../errors/app-error.js';
import type { Actor } from '../ids/ids.js';

const ACTOR = Symbol('actor');
type WithActor = { [ACTOR]?: Actor };

/** Called by the authentication guard alone, after the token was verified. */
export function setActor(request: Request, actor: Actor): void {
  (request as WithActor)[ACTOR] = actor;
}

/** Who asks. @throws AppError UNAUTHENTICATED when the call was not authenticated */
export function actorOf(request: Request): Actor {
  const actor = (request as WithActor)[ACTOR];
  if (!actor) throw new AppError('UNAUTHENTICATED');
  return actor;
}

/** Controller parameter: who asks. */
export const CurrentActor = createParamDecorator((_: unknown, context: ExecutionContext): Actor =>
  actorOf(context.switchToHttp().getRequest<Request>()),
);

export const IS_PUBLIC = 'trident:public';
/** Marks a controller or a handler that answers without a token. Everything else needs one. */
export const Public = (): MethodDecorator & ClassDecorator => SetMetadata(IS_PUBLIC, true);
