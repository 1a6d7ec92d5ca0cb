import type { TenantId, UserId } from '../../platform/ids/ids.js';

export type PresenceState = 'online' | 'offline' | 'unknown' | 'hidden';

/** What one user is told of another one's presence. */
export interface Presence {
  readonly uid: UserId;
  readonly state: PresenceState;
  /** ISO 8601; of a user who is offline, where he lets it be seen. */
  readonly lastSeenAt?: string;
  /** Kinds of device that he is online with, each once; empty when the clients did not say. */
  readonly devices?: readonly string[];
}

/** A change of presence as the nodes tell each other. */
export interface PresenceChange {
  readonly tenant: TenantId;
  readonly uid: UserId;
  readonly online: boolean;
  /** Rises with every change of a user, by the clock of Redis. */
  readonly version: number;
  /** Milliseconds since the epoch, 0 = not known. */
  readonly lastSeenMs: number;
}

/** What operators see of a node. */
export interface NodeInfo {
  readonly nodeId: string;
  readonly living: boolean;
  readonly leaseEndsAt: string;
  readonly startedAt?: string;
  readonly address?: string;
  readonly connections?: number;
  /** Users that it has sockets of, over all tenants. */
  readonly users?: number;
}

declare module '../../platform/socket/events.js' {
  interface ServerEvents {
    'presence:changed': { readonly uid: string; readonly state: PresenceState; readonly lastSeenAt?: string };
  }
}
