import type { Socket } from 'socket.io';
import type { Actor } from '../ids/ids.js';

/** What a node keeps of one of its own sockets. */
export interface SocketData {
  actor: Actor;
  deviceId: string | null;
  device: string | null;
  /** What the client calls itself, shortened; empty when it does not. */
  userAgent: string;
  /** Milliseconds since the epoch. */
  connectedAtMs: number;
  /** Joined to every topic of the user by itself (`all`), or only to those that the client asks for. */
  subscribe: 'all' | 'manual';
  /** End of the access token, milliseconds since the epoch. */
  expiresAtMs: number;
  /** Raised whenever the user's membership of any topic changed; a join decided before is decided again. */
  membershipChanges: number;
  /** When the client last asked something, milliseconds since the epoch; absent = never. */
  activeAtMs?: number;
}

export type ClientSocket = Socket<Record<string, never>, Record<string, never>, Record<string, never>, SocketData>;
