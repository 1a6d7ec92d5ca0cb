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
/** After the end of another node, which was noticed late enough: what it had not told is due within its lease and 5 s. */
const SPREAD_OF_ENDS_MS = 2_500;
const REREAD_RETRY_MS = 1_000;

/**
 * Gaps of realtime. After one (a subscription or a publish failed, another node died between ack and publish) every
 * socket is told once to ask where it is behind. A node whose lease may have ended delivers nothing of groups until it has
 * read its memberships again: a kick that was acknowledged meanwhile did not wait for it.
 */
@Injectable()
export class ResyncService implements OnApplicationBootstrap {
  private readonly pending = new WeakSet<ClientSocket>();
  /** Leases lost, and the last of them after which all memberships were read again. */
  private losses = 0;
  private recovered = 0;

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
      this.resyncAll(SPREAD_OF_ENDS_MS);
      // Nor may what they had stored about members have been told.
      this.membership.rereadAll().catch((error: Error) => {
        this.log.warn({ error: error.message }, 'memberships could not be read again after the end of a node');
      });
    });
    this.presence.onLeaseLost(() => {
      this.losses += 1;
      void this.recover(this.losses);
    });
    this.sockets.setGate(
      (room) => !isMembersRoom(room) || (this.presence.leaseStands && this.recovered === this.losses),
    );
  }

  private async recover(loss: number): Promise<void> {
    // A later loss begins anew: what this one has read may be older than a kick during that.
    while (loss === this.losses) {
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
    if (loss !== this.losses) return;
    this.recovered = loss;
    this.resyncAll();
  }

  private resyncAll(spreadMs = SPREAD_MS): void {
    for (const client of this.local.all()) {
      if (this.pending.has(client)) continue;
      this.pending.add(client);
      setTimeout(() => {
        this.pending.delete(client);
        this.sockets.emitTo(client, 'topic:resync', {});
      }, Math.random() * spreadMs).unref();
    }
  }
}
