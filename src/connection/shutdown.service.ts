import { Injectable } from '@nestjs/common';
import { Readiness } from '../platform/observe/readiness.js';
import { SocketRouter } from '../platform/socket/socket-router.js';
import { SocketServer } from '../platform/socket/socket-server.js';
import { Closing } from './closing.js';
import { LocalSockets } from './local-sockets.js';

const CLOSE_BATCH = 50;
const CLOSE_PAUSE_MS = 100;
const IN_FLIGHT_LIMIT_MS = 15_000;

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
    this.readiness.drain();
    await this.eventsAnswered();
    for (let clients = this.local.all(); clients.length > 0; clients = this.local.all()) {
      for (const client of clients.slice(0, CLOSE_BATCH)) this.closing.close(client, 'draining');
      await new Promise((resolve) => setTimeout(resolve, CLOSE_PAUSE_MS));
      await this.eventsAnswered();
    }
    await this.sockets.close();
  }

  private async eventsAnswered(): Promise<void> {
    const deadline = Date.now() + IN_FLIGHT_LIMIT_MS;
    while (this.router.inFlight > 0 && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
