import { Injectable } from '@nestjs/common';
import type { ClientSocket } from '../platform/socket/socket-client.js';
import { SocketServer } from '../platform/socket/socket-server.js';
import type { ClosingReason } from './connection.types.js';

/** Longest delay that a timer takes. */
const MAX_TIMER_MS = 2 ** 31 - 1;
/** Clients that are moved come back spread over this time. */
const RECONNECT_SPREAD_MS = 3_000;

/** Ends connections with a word to the client. */
@Injectable()
export class Closing {
  private readonly timers = new WeakMap<ClientSocket, NodeJS.Timeout>();

  constructor(private readonly sockets: SocketServer) {}

  close(client: ClientSocket, reason: ClosingReason): void {
    const reconnectAfterMs = reason === 'draining' ? Math.floor(Math.random() * RECONNECT_SPREAD_MS) : 0;
    this.sockets.emitTo(client, 'session:closing', { reason, reconnectAfterMs });
    client.disconnect(true);
  }

  /** Ends the connection with its token; called again after a renewal. */
  closeAtExpiry(client: ClientSocket): void {
    this.forget(client);
    const inMs = Math.max(0, client.data.expiresAtMs - Date.now());
    const onTime = (): void =>
      client.data.expiresAtMs <= Date.now() ? this.close(client, 'token_expired') : this.closeAtExpiry(client);
    this.timers.set(client, setTimeout(onTime, Math.min(inMs, MAX_TIMER_MS)).unref());
  }

  forget(client: ClientSocket): void {
    clearTimeout(this.timers.get(client));
  }
}
