import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { PresenceService } from '../modules/presence/presence.service.js';
import { Logger } from '../platform/observe/logger.js';
import { isMembersRoom } from '../platform/socket/rooms.js';
import type { ClientSocket } from '../platform/socket/socket-client.js';
import { SocketServer } from '../platform/socket/socket-server.js';
import { LocalSockets } from './local-sockets.js';
import { MembershipService } from './membership.service.js';

/** Sockets that were told to ask again come spread over this time. */
const SPREAD_MS = 5_000;
const REREAD_RETRY_MS = 1_000;

/**
 * Gaps of realtime. After one (a subscription or a publish failed, another node died between ack and publish) every
 * socket is told once to ask where it is behind. A node whose lease may have ended delivers nothing of groups until it has
 * read its memberships again: a kick that was acknowledged meanwhile did not wait for it.
 */
@Injectable()
export class ResyncService implements OnApplicationBootstrap {
  private readonly pending = new WeakSet<ClientSocket>();
  private membershipsAreFresh = true;

  constructor(
    private readonly sockets: SocketServer,
    private readonly presence: PresenceService,
    private readonly membership: MembershipService,
    private readonly local: LocalSockets,
    private readonly log: Logger,
  ) {}

  onApplicationBootstrap(): void {
    this.sockets.onGap(() => this.resyncAll());
    this.presence.onOthersGone((nodes) => {
      this.log.warn({ nodes }, 'other nodes ended; what they acknowledged last may not have been delivered');
      this.resyncAll();
    });
    this.presence.onLeaseLost(() => {
      this.membershipsAreFresh = false;
      void this.recover();
    });
    this.sockets.setGate((room) => !isMembersRoom(room) || (this.presence.leaseStands && this.membershipsAreFresh));
  }

  private async recover(): Promise<void> {
    for (;;) {
      try {
        await this.membership.rereadAll();
        break;
      } catch (error) {
        this.log.warn(
          { error: (error as Error).message },
          'memberships could not be read again; nothing is delivered yet',
        );
        await new Promise((resolve) => setTimeout(resolve, REREAD_RETRY_MS));
      }
    }
    this.membershipsAreFresh = true;
    this.resyncAll();
  }

  private resyncAll(): void {
    for (const client of this.local.all()) {
      if (this.pending.has(client)) continue;
      this.pending.add(client);
      setTimeout(() => {
        this.pending.delete(client);
        this.sockets.emitTo(client, 'topic:resync', {});
      }, Math.random() * SPREAD_MS).unref();
    }
  }
}
