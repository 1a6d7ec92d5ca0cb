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
/** Events in flight are waited for no longer, all pauses together; with what follows a node ends within 30 s. */
const IN_FLIGHT_LIMIT_MS = 22_000;

/** A graceful end: not ready, clients told to move at a pace that the other nodes can take, events in flight answered. */
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
    const deadlineMs = performance.now() + IN_FLIGHT_LIMIT_MS;
    // No new sockets: the gate turns them away to other nodes.
    this.readiness.drain();
    await this.eventsAnswered(deadlineMs);
    const batch = Math.max(CLOSE_BATCH, Math.ceil((this.local.size * CLOSE_PAUSE_MS) / MOVE_LIMIT_MS));
    for (let clients = this.local.all(); clients.length > 0; clients = this.local.all()) {
      for (const client of clients.slice(0, batch)) this.closing.close(client, 'draining');
      await new Promise((resolve) => setTimeout(resolve, CLOSE_PAUSE_MS));
      await this.eventsAnswered(deadlineMs);
    }
    await this.sockets.close();
  }

  private async eventsAnswered(deadlineMs: number): Promise<void> {
    while (this.router.inFlight > 0 && performance.now() < deadlineMs) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
