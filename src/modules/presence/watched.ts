import type { TenantId, UserId } from '../../platform/ids/ids.js';
import type { ClientSocket } from '../../platform/socket/socket-client.js';
import type { PresenceSight } from '../relation/relation.types.js';
import { userKey } from './local-users.js';

/** Somebody whom sockets of this node watch. */
export interface Watched {
  readonly tenant: TenantId;
  readonly uid: UserId;
  /** What each of them may see. A socket that may see nothing stays, to be told when that changes. */
  readonly watchers: Map<ClientSocket, PresenceSight>;
  /** What they were told last; null = unknown. */
  online: boolean | null;
  /** Milliseconds since the epoch, 0 = not known. */
  lastSeenMs: number;
  version: number;
  /** Raised with every change that came, so that a read that is older is known as that. */
  changes: number;
}

/** Whom each asker watches, by one of his sockets. */
export function byAsker(watched: Iterable<Watched>): Map<ClientSocket, Watched[]> {
  const sockets = new Map<string, ClientSocket>();
  const found = new Map<ClientSocket, Set<Watched>>();
  for (const entry of watched) {
    for (const client of entry.watchers.keys()) {
      const key = userKey(client.data.actor.tenant, client.data.actor.uid);
      const one = sockets.get(key) ?? client;
      sockets.set(key, one);
      found.set(one, (found.get(one) ?? new Set()).add(entry));
    }
  }
  return new Map([...found].map(([client, entries]) => [client, [...entries]]));
}
