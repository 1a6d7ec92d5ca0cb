import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { PresenceService } from '../modules/presence/presence.service.js';
import { Logger } from '../platform/observe/logger.js';
import { Metrics } from '../platform/observe/metrics.js';
import { TenantMetrics } from '../platform/observe/tenant-metrics.js';
import { forgetHandshake } from '../platform/socket/lean-connection.js';
import { userRoom } from '../platform/socket/rooms.js';
import type { ClientSocket } from '../platform/socket/socket-client.js';
import { SocketRouter } from '../platform/socket/socket-router.js';
import { SocketServer } from '../platform/socket/socket-server.js';
import { Closing } from './closing.js';
import { Handshake } from './handshake.js';
import { HandshakeGate } from './handshake-gate.js';
import { LocalSockets } from './local-sockets.js';
import { MembershipService } from './membership.service.js';

const JOIN_TRIES = 5;
const JOIN_RETRY_MS = 500;

/**
 * The life of a socket on one page: handshake, topics, ready, close. What it hears is decided by `MembershipService`, what
 * it says is answered by `SocketRouter`.
 */
@Injectable()
export class ConnectionService implements OnApplicationBootstrap {
  private readonly connections;

  constructor(
    private readonly sockets: SocketServer,
    private readonly router: SocketRouter,
    private readonly handshake: Handshake,
    private readonly gate: HandshakeGate,
    private readonly local: LocalSockets,
    private readonly membership: MembershipService,
    private readonly closing: Closing,
    private readonly presence: PresenceService,
    private readonly log: Logger,
    private readonly ofTenants: TenantMetrics,
    metrics: Metrics,
  ) {
    this.connections = metrics.gauge('im_connections', 'Sockets of this node');
  }

  onApplicationBootstrap(): void {
    const { namespace } = this.sockets;
    namespace.use((client, next) => this.handshake.middleware(client as unknown as ClientSocket, next));
    namespace.on('connection', (client) => void this.welcome(client as unknown as ClientSocket));
    this.presence.countConnections(() => this.local.size);
  }

  private async welcome(client: ClientSocket): Promise<void> {
    // Whoever comes now waits for a place while this one is let in.
    const leave = this.gate.hold();
    try {
      await this.open(client);
    } finally {
      leave();
    }
  }

  private async open(client: ClientSocket): Promise<void> {
    // 1. From the first moment every event is answered and every request about this user finds the socket.
    forgetHandshake(client);
    this.local.add(client);
    this.connections.set(this.local.size);
    this.ofTenants.connected(client.data.actor.tenant, 1);
    client.on('disconnect', () => {
      this.closed(client);
      // A client that leaves the namespace leaves: without it the connection serves nothing, and nothing would end it.
      client.conn.close();
    });
    this.router.attach(client);
    this.closing.closeAtExpiry(client);
    const { tenant, uid, sessionId } = client.data.actor;
    void client.join(userRoom(tenant, uid));
    // A logout or a disabling that came during the handshake found no socket yet: the token is asked once more.
    if (!(await this.handshake.stillStands(client))) return this.closing.close(client, 'revoked');
    if (!client.connected) return;
    // 2. Presence; topics, and their subscriptions between the nodes. Trouble with presence stops nobody.
    const isWritten = this.presence.socketOpened(client);
    const topics = client.data.subscribe === 'all' ? await this.joinTopics(client) : 0;
    await isWritten;
    if (topics === null) return void client.disconnect(true);
    // Without Redis it is ready all the same: reads go on, and the gap is told when Redis is back.
    await this.sockets.subscribed();
    if (!client.connected) return;
    // 3. Ready: from now on nothing of those topics is missed on a healthy connection.
    this.sockets.emitTo(client, 'session:ready', {
      uid,
      sessionId,
      nodeId: this.presence.nodeId,
      serverTime: new Date().toISOString(),
      topics,
    });
  }

  /** @returns null when the memberships cannot be read: the client comes back by itself */
  private async joinTopics(client: ClientSocket): Promise<number | null> {
    const { tenant, uid } = client.data.actor;
    for (let attempt = 1; client.connected; attempt += 1) {
      try {
        return await this.membership.joinAll(client);
      } catch (error) {
        this.log.warn({ tenant, uid, error: (error as Error).message }, 'the topics of a socket could not be read');
        if (attempt === JOIN_TRIES) return null;
        await new Promise((resolve) => setTimeout(resolve, JOIN_RETRY_MS * attempt));
      }
    }
    return null;
  }

  private closed(client: ClientSocket): void {
    this.local.remove(client);
    this.connections.set(this.local.size);
    this.ofTenants.connected(client.data.actor.tenant, -1);
    this.closing.forget(client);
    this.presence.socketClosed(client);
  }
}
