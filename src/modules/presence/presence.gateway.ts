import { Injectable } from '@nestjs/common';
import type { ClientSocket } from '../../platform/socket/socket-client.js';
import { SocketEvent } from '../../platform/socket/socket-event.decorator.js';
import { UidsDto } from './dto/presence.dto.js';
import { PresenceQuery } from './presence-query.js';
import type { Presence } from './presence.types.js';
import { Watches } from './watches.js';

/** Presence by socket. */
@Injectable()
export class PresenceGateway {
  constructor(
    private readonly query: PresenceQuery,
    private readonly watches: Watches,
  ) {}

  @SocketEvent('presence:get', UidsDto, 'read')
  async get(client: ClientSocket, { uids }: UidsDto): Promise<{ presences: Presence[] }> {
    const { tenant, uid } = client.data.actor;
    return { presences: await this.query.presences(tenant, uid, uids) };
  }

  @SocketEvent('presence:watch', UidsDto, 'read')
  async watch(client: ClientSocket, { uids }: UidsDto): Promise<{ presences: Presence[] }> {
    return { presences: await this.watches.watch(client, uids) };
  }

  @SocketEvent('presence:unwatch', UidsDto, 'read')
  async unwatch(client: ClientSocket, { uids }: UidsDto): Promise<{ presences: Presence[] }> {
    return { presences: await this.watches.unwatch(client, uids) };
  }
}
