import { Injectable } from '@nestjs/common';
import { Readiness } from '../platform/observe/readiness.js';
import type { ClientSocket } from '../platform/socket/socket-client.js';
import { SocketRouter } from '../platform/socket/socket-router.js';
import { SocketServer } from '../platform/socket/socket-server.js';
import { Closing } from './closing.js';
import { LocalSockets } from './local-sockets.js';

const CLOSE_PAUSE_MS = 100;
/** Clients that are told to move each time: 500 a second, and more where that would not end in time. */
const CLOSE_BATCH = 50;
const MOVE_LIMIT_MS = 15_000;
/** So long the answers that a client waits for are waited for before he is closed. */
const PATIENCE_MS = 8_000;
/** Events in flight are waited for no longer; with what follows a node ends within 30 s. */
const IN_FLIGHT_LIMIT_MS = 22_000;

/**
 * A graceful end: not ready, then the clients go at a pace that the other nodes can take. One who goes gets the answers that
 * he waits for, while what he asks from then on is refused retryably: there would always be one more. Then he is told to
 * move, and closed.
 */
@Injectable()
export class ShutdownService {
  constructor(
    private readonly readiness: Readiness,
    private readonly local: LocalSockets,
    private readonly closing: Closing,
    private readonly router: SocketRouter,
    private readonly sockets: SocketServer,
  ) {}

  async drain(): Promise<void> {
    const beganMs = performance.now();
    // No new sockets: the gate turns them away to other nodes.
    this.readiness.drain();
    const batch = Math.max(CLOSE_BATCH, Math.ceil((this.local.size * CLOSE_PAUSE_MS) / MOVE_LIMIT_MS));
    const goingSinceMs = new Map<ClientSocket, number>();
    const closed = new Set<ClientSocket>();
    for (let clients = this.local.all(); clients.length > 0; clients = this.local.all()) {
      const nowMs = performance.now();
      for (const client of clients.filter((client) => !goingSinceMs.has(client)).slice(0, batch)) {
        goingSinceMs.set(client, nowMs);
        this.router.refuse(client);
      }
      for (const [client, sinceMs] of goingSinceMs) {
        if (closed.has(client) || (this.router.owesTo(client) && nowMs - sinceMs < PATIENCE_MS)) continue;
        closed.add(client);
        this.closing.close(client, 'draining');
      }
      await new Promise((resolve) => setTimeout(resolve, CLOSE_PAUSE_MS));
    }
    while (this.router.isBusy && performance.now() - beganMs < IN_FLIGHT_LIMIT_MS) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await this.sockets.close();
  }
}
