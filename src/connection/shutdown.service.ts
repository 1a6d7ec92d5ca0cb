import { Injectable } from '@nestjs/common';
import { Readiness } from '../platform/observe/readiness.js';
import { SocketRouter } from '../platform/socket/socket-router.js';
import { SocketServer } from '../platform/socket/socket-server.js';
import { Closing } from './closing.js';
import { LocalSockets } from './local-sockets.js';

const CLOSE_PAUSE_MS = 100;
/** Clients that are told to move each time: 500 a second, and more where that would not end in time. */
const CLOSE_BATCH = 50;
const MOVE_LIMIT_MS = 15_000;
/** So long a client who waits for an answer is passed over; some are never without a question. */
const PATIENCE_MS = 8_000;
/** Events in flight are waited for no longer; with what follows a node ends within 30 s. */
const IN_FLIGHT_LIMIT_MS = 22_000;

/**
 * A graceful end: not ready, clients told to move at a pace that the other nodes can take, each when he has his answers.
 * Nobody waits for the questions of others: under load there is no moment without one.
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
    for (let clients = this.local.all(); clients.length > 0; clients = this.local.all()) {
      const isPatient = performance.now() - beganMs < PATIENCE_MS;
      const movable = isPatient ? clients.filter((client) => !this.router.owesTo(client)) : clients;
      for (const client of movable.slice(0, batch)) this.closing.close(client, 'draining');
      await new Promise((resolve) => setTimeout(resolve, CLOSE_PAUSE_MS));
    }
    while (this.router.isBusy && performance.now() - beganMs < IN_FLIGHT_LIMIT_MS) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await this.sockets.close();
  }
}
