import { SetMetadata } from '@nestjs/common';

export const SOCKET_EVENT = 'trident:socket-event';

export interface SocketEventOptions {
  readonly event: string;
  readonly dto: new () => object;
}

/**
 * Marks a gateway method as the handler of a client event. The router validates the payload against `dto`, calls
 * `handler(client, payload)`, and acknowledges `{ ok: true, ...result }` or the error; a handler only returns or throws.
 */
export const SocketEvent = (event: string, dto: new () => object): MethodDecorator =>
  SetMetadata(SOCKET_EVENT, { event, dto } satisfies SocketEventOptions);
