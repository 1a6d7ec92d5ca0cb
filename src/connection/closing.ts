import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { ClientSocket } from '../platform/socket/socket-client.js';
import { SocketServer } from '../platform/socket/socket-server.js';
import type { ClosingReason } from './connection.types.js';

/** Longest delay that a timer takes. */
const MAX_TIMER_MS = 2 ** 31 - 1;
/** Clients that are moved come back spread over this time. */
const RECONNECT_SPREAD_MS = 3_000;

/** A client that does not read is cut off after this, whether it has read why or not. */
const SLOW_GRACE_MS = 5_000;

/** Ends connections with a word to the client. */
@Injectable()
export class Closing implements OnModuleInit {
  private readonly timers = new WeakMap<ClientSocket, NodeJS.Timeout>();

  constructor(private readonly sockets: SocketServer) {}

  onModuleInit(): void {
    this.sockets.onSlowConsumers({
      caughtUp: (client) => this.sockets.emitTo(client, 'topic:resync', {}),
      tooSlow: (client) => this.closeSlow(client),
    });
  }

  close(client: ClientSocket, reason: ClosingReason): void {
    const reconnectAfterMs = reason === 'draining' ? spread(RECONNECT_SPREAD_MS) : 0;
    this.sockets.emitTo(client, 'session:closing', { reason, reconnectAfterMs });
    client.disconnect(true);
  }

  private closeSlow(client: ClientSocket): void {
    const payload = { reason: 'slow_consumer', reconnectAfterMs: spread(RECONNECT_SPREAD_MS) } as const;
    this.sockets.cutOff(client, 'session:closing', payload, SLOW_GRACE_MS);
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

const spread = (ms: number): number => Math.floor(Math.random() * ms);
