import { Injectable } from '@nestjs/common';
import type { TenantId, UserId } from '../../platform/ids/ids.js';
import type { ClientSocket } from '../../platform/socket/socket-client.js';

/** A user with sockets on this node. One such object a user, whatever he does: memory per connection is counted. */
export interface LocalUser {
  readonly tenant: TenantId;
  readonly uid: UserId;
  readonly sockets: ClientSocket[];
  /** His place in the refresher's round. */
  readonly slot: number;
  /** The node id under which all his sessions are known to be written; null = some may be missing. */
  writtenAs: string | null;
  /** The node id whose index has him. */
  indexedAs: string | null;
  /** An answer of Redis was lost: whether others were told of him is not known. */
  unsure: boolean;
}

/** This node's users, laid out in a ring so that their refreshes are spread evenly over a period. */
@Injectable()
export class LocalUsers {
  private readonly users = new Map<string, LocalUser>();
  private ring: Set<LocalUser>[] = [new Set()];

  /** @param slots parts of the ring; to be called before the first user comes */
  layOut(slots: number): void {
    this.ring = Array.from({ length: slots }, () => new Set());
  }

  add(client: ClientSocket): LocalUser {
    const { tenant, uid } = client.data.actor;
    const key = userKey(tenant, uid);
    let user = this.users.get(key);
    if (!user) {
      const slot = Math.floor(Math.random() * this.ring.length);
      user = { tenant, uid, sockets: [], slot, writtenAs: null, indexedAs: null, unsure: false };
      this.users.set(key, user);
      this.ring[slot].add(user);
    }
    user.sockets.push(client);
    return user;
  }

  remove(client: ClientSocket): void {
    const { tenant, uid } = client.data.actor;
    const key = userKey(tenant, uid);
    const user = this.users.get(key);
    const at = user?.sockets.indexOf(client) ?? -1;
    if (!user || at < 0) return;
    user.sockets.splice(at, 1);
    if (user.sockets.length > 0) return;
    this.users.delete(key);
    this.ring[user.slot].delete(user);
  }

  has(tenant: TenantId, uid: UserId): boolean {
    return this.users.has(userKey(tenant, uid));
  }

  get size(): number {
    return this.users.size;
  }

  all(): LocalUser[] {
    return [...this.users.values()];
  }

  tenants(): Set<TenantId> {
    const tenants = new Set<TenantId>();
    for (const user of this.users.values()) tenants.add(user.tenant);
    return tenants;
  }

  inSlot(slot: number): LocalUser[] {
    return [...this.ring[slot % this.ring.length]];
  }

  get slots(): number {
    return this.ring.length;
  }
}

export const userKey = (tenant: TenantId, uid: UserId): string => `${tenant} ${uid}`;
