import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { PresenceService } from '../modules/presence/presence.service.js';
import type { TenantId, Topic, UserId } from '../platform/ids/ids.js';
import { isMembersRoom, topicOfRoom, topicRoom } from '../platform/socket/rooms.js';
import type { ClientSocket } from '../platform/socket/socket-client.js';
import { SocketServer } from '../platform/socket/socket-server.js';
import { LocalSockets } from './local-sockets.js';

/**
 * Tells presence which members hear a topic on this node, however their sockets came into its room or left it. The rooms
 * themselves are the only record: a user counts while any of his sockets is in one.
 */
@Injectable()
export class OnlineTopics implements OnApplicationBootstrap {
  constructor(
    private readonly sockets: SocketServer,
    private readonly local: LocalSockets,
    private readonly presence: PresenceService,
  ) {}

  onApplicationBootstrap(): void {
    const { adapter } = this.sockets.namespace;
    adapter.on('join-room', (room: string, id: string) => this.moved(room, id, true));
    adapter.on('leave-room', (room: string, id: string) => this.moved(room, id, false));
    this.presence.useSubscriptions({
      topics: () => this.topics(),
      hears: (tenant, topic) => adapter.rooms.has(topicRoom(tenant, topic)),
      members: (tenant, topic) => this.members(tenant, topic),
    });
  }

  private moved(room: string, id: string, joined: boolean): void {
    if (!isMembersRoom(room)) return;
    const client = this.sockets.namespace.sockets.get(id) as unknown as ClientSocket | undefined;
    const found = topicOfRoom(room);
    if (!client || !found) return;
    const { tenant, uid } = client.data.actor;
    const hearsElsewhere = this.local.ofUser(tenant, uid).some((other) => other !== client && other.rooms.has(room));
    if (!hearsElsewhere) this.presence.memberChanged(tenant, found.topic, uid, joined);
  }

  private *topics(): Generator<{ tenant: TenantId; topic: Topic }> {
    for (const room of this.sockets.namespace.adapter.rooms.keys()) {
      const found = isMembersRoom(room) ? topicOfRoom(room) : null;
      if (found) yield found;
    }
  }

  private members(tenant: TenantId, topic: Topic): UserId[] {
    const clients = this.sockets.localSockets(topicRoom(tenant, topic));
    return [...new Set(clients.map((client) => client.data.actor.uid))];
  }
}
