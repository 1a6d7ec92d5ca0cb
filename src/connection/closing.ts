import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { ClientSocket } from '../platform/socket/socket-client.js';
import { SocketServer } from '../platform/socket/socket-server.js';
import type { ClosingReason } from './connection.types.js';

const EXPIRY_SWEEP_MS = 1_000;
/** Clients that are moved come back spread over this time. */
const RECONNECT_SPREAD_MS = 3_000;

/** A client that is moved loses no question that crosses the word to go. */
const LINGER_MS = 200;

/** A client that does not read why it is closed is cut off after this. */
const GRACE_MS = 5_000;

/** Ends connections with a word to the client. */
@Injectable()
export class Closing implements OnModuleInit, OnApplicationShutdown {
  /** One timer for all: a timer of its own for each costs several hundred bytes. */
  private readonly expiring = new Set<ClientSocket>();
  private timer?: NodeJS.Timeout;

  constructor(private readonly sockets: SocketServer) {}

  onModuleInit(): void {
    this.timer = setInterval(() => this.closeExpired(), EXPIRY_SWEEP_MS).unref();
    this.sockets.onSlowConsumers({
      caughtUp: (client) => this.sockets.emitTo(client, 'topic:resync', {}),
      tooSlow: (client) => this.close(client, 'slow_consumer'),
    });
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
  }

  close(client: ClientSocket, reason: ClosingReason): void {
    const isMoved = reason === 'draining' || reason === 'slow_consumer';
    const reconnectAfterMs = isMoved ? Math.floor(Math.random() * RECONNECT_SPREAD_MS) : 0;
    const lingerMs = reason === 'draining' ? LINGER_MS : 0;
    const options = { graceMs: GRACE_MS, dropQueued: reason === 'slow_consumer', lingerMs };
    this.sockets.end(client, 'session:closing', { reason, reconnectAfterMs }, options);
  }

  /** Ends the connection with its token, at most a second late; every event is refused from the very moment on. */
  closeAtExpiry(client: ClientSocket): void {
    this.expiring.add(client);
  }

  forget(client: ClientSocket): void {
    this.expiring.delete(client);
  }

  private closeExpired(): void {
    const nowMs = Date.now();
    for (const client of this.expiring) {
      if (client.data.expiresAtMs > nowMs) continue;
      this.expiring.delete(client);
      this.close(client, 'token_expired');
    }
  }
}
