import { Injectable } from '@nestjs/common';
import type { TenantId, UserId } from '../platform/ids/ids.js';
import type { ClientSocket } from '../platform/socket/socket-client.js';

/** This node's sockets by whom they belong to. A node knows its own sockets and nothing else. */
@Injectable()
export class LocalSockets {
  /** The sockets of each user; without a set where he has only one, as nearly everybody. */
  private readonly byUser = new Map<string, ClientSocket | Set<ClientSocket>>();
  private readonly sockets = new Set<ClientSocket>();

  add(client: ClientSocket): void {
    this.sockets.add(client);
    const key = userKey(client.data.actor.tenant, client.data.actor.uid);
    const own = this.byUser.get(key);
    if (own === undefined) this.byUser.set(key, client);
    else if (own instanceof Set) own.add(client);
    else if (own !== client) this.byUser.set(key, new Set([own, client]));
  }

  remove(client: ClientSocket): void {
    this.sockets.delete(client);
    const key = userKey(client.data.actor.tenant, client.data.actor.uid);
    const own = this.byUser.get(key);
    if (own === client) this.byUser.delete(key);
    if (own instanceof Set && own.delete(client) && own.size === 0) this.byUser.delete(key);
  }

  get size(): number {
    return this.sockets.size;
  }

  all(): ClientSocket[] {
    return [...this.sockets];
  }

  /** Tenants that have a socket here. */
  tenants(): Set<TenantId> {
    return new Set(this.all().map((client) => client.data.actor.tenant));
  }

  ofUser(tenant: TenantId, uid: UserId): ClientSocket[] {
    const own = this.byUser.get(userKey(tenant, uid));
    if (own === undefined) return [];
    return own instanceof Set ? [...own] : [own];
  }

  ofTenant(tenant: TenantId): ClientSocket[] {
    return this.all().filter((client) => client.data.actor.tenant === tenant);
  }
}

const userKey = (tenant: TenantId, uid: UserId): string => `${tenant} ${uid}`;
