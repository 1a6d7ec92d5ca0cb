import { Injectable, type OnModuleInit } from '@nestjs/common';
import { NodeBus } from '../../platform/redis/node-bus.js';
import type { ClientSocket } from '../../platform/socket/socket-client.js';
import { UserService } from '../user/user.service.js';
import { Departures } from './departures.js';
import { Sessions } from './sessions.js';
import { Watches } from './watches.js';
import type { TenantId, UserId } from '../../platform/ids/ids.js';

const SIGHT_CHANGED = 'presence:sight';

interface SightChange {
  readonly tenant: TenantId;
  readonly uid: UserId;
  readonly watcher?: UserId;
}

/** What a socket of this node has to do with presence: its own session, and whom it watches. */
@Injectable()
export class SocketPresence implements OnModuleInit {
  constructor(
    private readonly sessions: Sessions,
    private readonly departures: Departures,
    private readonly watches: Watches,
    private readonly users: UserService,
    private readonly bus: NodeBus,
  ) {}

  onModuleInit(): void {
    this.bus.onGap(() => void this.watches.recheckAll(true));
    this.bus.onTold<SightChange>(SIGHT_CHANGED, ({ tenant, uid, watcher }) => {
      void this.watches.sightChanged(tenant, uid, watcher);
    });
    this.users.onSightChanged((tenant, uid, watcher) => {
      // A node that was away reads all sights anew. One that misses it otherwise shows what it showed until its watchers ask.
      this.bus.tellAll(SIGHT_CHANGED, { tenant, uid, watcher } satisfies SightChange).catch(() => undefined);
    });
  }

  opened(client: ClientSocket): Promise<void> {
    return this.sessions.opened(client);
  }

  closed(client: ClientSocket): void {
    this.sessions.closed(client);
    this.watches.forget(client);
    const { tenant, uid } = client.data.actor;
    this.departures.closed(tenant, uid, client.id);
  }

  /** Something may have been missed: everybody who is watched is read anew. */
  recheck(): void {
    void this.watches.recheckAll();
  }

  finish(othersLive: boolean): Promise<void> {
    return this.departures.finish(othersLive);
  }
}
