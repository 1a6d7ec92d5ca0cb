import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { PresenceService } from '../modules/presence/presence.service.js';
import type { TenantId } from '../platform/ids/ids.js';
import { Logger } from '../platform/observe/logger.js';
import { NodeBus } from '../platform/redis/node-bus.js';
import { isMembersRoom, tenantOfRoom } from '../platform/socket/rooms.js';
import type { ClientSocket } from '../platform/socket/socket-client.js';
import { SocketServer } from '../platform/socket/socket-server.js';
import { LocalSockets } from './local-sockets.js';
import { MembershipService } from './membership.service.js';

/** Sockets that were told to ask again come spread over this time. */
const SPREAD_MS = 5_000;
/** After the end of another node, which was noticed late enough: what it had not told is due within its lease and 5 s. */
const SPREAD_OF_ENDS_MS = 2_500;
const REREAD_RETRY_MS = 1_000;
/** What all nodes are told after one of them could not publish a frame. */
const FRAMES_LOST = 'realtime:lost';
const TELL_RETRY_MS = 1_000;

/**
 * Gaps of realtime. After one (a subscription or a publish failed, another node died between ack and publish) every
 * socket is told once to ask where it is behind. A node whose lease may have ended delivers nothing of a tenant's groups
 * until it has read that tenant's memberships again: a kick that was acknowledged meanwhile did not wait for it. A tenant
 * whose database does not answer waits alone.
 */
@Injectable()
export class ResyncService implements OnApplicationBootstrap {
  private readonly pending = new WeakSet<ClientSocket>();
  private losses = 0;
  /** The other nodes have to be told that they missed frames of this one. */
  private telling = false;
  /** Tenants whose memberships were not read again since the lease was lost. */
  private readonly unread = new Set<TenantId>();

  constructor(
    private readonly sockets: SocketServer,
    private readonly presence: PresenceService,
    private readonly membership: MembershipService,
    private readonly local: LocalSockets,
    private readonly bus: NodeBus,
    private readonly log: Logger,
  ) {}

  onApplicationBootstrap(): void {
    this.sockets.onGap(() => this.resync(this.local.all()));
    this.bus.onTold<{ node: string }>(FRAMES_LOST, ({ node }) => {
      // Its own clients had the frames.
      if (node !== this.presence.nodeId) this.resync(this.local.all());
    });
    this.sockets.onPublishLost(() => void this.tellLost());
    this.presence.onOthersGone((nodes) => {
      this.log.warn({ nodes }, 'other nodes ended; what they acknowledged last may not have been delivered');
      this.resync(this.local.all(), SPREAD_OF_ENDS_MS);
      // Nor may what they had stored about members have been told.
      for (const tenant of this.local.tenants()) void this.reread(tenant, this.losses);
    });
    this.presence.onLeaseLost(() => {
      // A later loss begins anew: what was read before it may be older than a kick during that.
      this.losses += 1;
      for (const tenant of this.local.tenants()) this.unread.add(tenant);
      for (const tenant of this.unread) void this.recover(tenant, this.losses);
    });
    this.sockets.setGate((room) => !isMembersRoom(room) || (this.presence.leaseStands && this.isRead(room)));
  }

  /** One word for all that was lost until it gets through; what is lost after it is told anew. */
  private async tellLost(): Promise<void> {
    if (this.telling) return;
    this.telling = true;
    for (;;) {
      // Before the word, and between two tries: many frames are lost together.
      await new Promise((resolve) => setTimeout(resolve, TELL_RETRY_MS).unref());
      // A frame that is lost while the word is on its way needs another one.
      this.telling = false;
      const isTold = await this.bus.tellAll(FRAMES_LOST, { node: this.presence.nodeId }).then(
        () => true,
        () => false,
      );
      if (isTold || this.telling) return;
      this.telling = true;
    }
  }

  private isRead(room: string): boolean {
    return this.unread.size === 0 || !this.unread.has(tenantOfRoom(room));
  }

  private async recover(tenant: TenantId, loss: number): Promise<void> {
    if (!(await this.reread(tenant, loss))) return;
    this.unread.delete(tenant);
    this.resync(this.local.ofTenant(tenant));
  }

  /** Tries until it succeeds. @returns false when the lease was lost (again) meanwhile: whoever saw that reads */
  private async reread(tenant: TenantId, loss: number): Promise<boolean> {
    while (loss === this.losses) {
      try {
        await this.membership.reread(tenant);
        return loss === this.losses;
      } catch (error) {
        this.log.warn({ tenant, error: (error as Error).message }, 'memberships could not be read again; they will be');
        await new Promise((resolve) => setTimeout(resolve, REREAD_RETRY_MS).unref());
      }
    }
    return false;
  }

  private resync(clients: readonly ClientSocket[], spreadMs = SPREAD_MS): void {
    for (const client of clients) {
      if (this.pending.has(client)) continue;
      this.pending.add(client);
      setTimeout(() => {
        this.pending.delete(client);
        this.sockets.emitTo(client, 'topic:resync', {});
      }, Math.random() * spreadMs).unref();
    }
  }
}
