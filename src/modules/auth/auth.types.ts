import type { Actor, TenantId, UserId } from '../../platform/ids/ids.js';

/** Longest password that is hashed, characters; longer ones are refused before they cost anything. */
export const MAX_PASSWORD_LENGTH = 128;
export const MIN_PASSWORD_LENGTH = 8;

export const DEVICES = ['ios', 'android', 'web', 'desktop'] as const;

export interface DeviceInfo {
  readonly deviceId?: string;
  readonly device?: string;
}

/** What a verified access token says. */
export interface Authenticated {
  readonly actor: Actor;
  /** End of the access token, milliseconds since the epoch. */
  readonly expiresAtMs: number;
}

/** Answer to a login, a registration and a refresh. */
export interface TokenPair {
  readonly uid: UserId;
  readonly accessToken: string;
  readonly refreshToken: string;
  /** Life of the access token, seconds. */
  readonly expiresIn: number;
}

export interface LoginTicket {
  readonly tenantId: TenantId;
  readonly tenantName: string;
  readonly loginToken: string;
  /** Life of the login token, seconds. */
  readonly expiresIn: number;
}

export type RevokeReason =
  'logout' | 'logout_all' | 'removed' | 'refresh_reuse' | 'password_reset' | 'user_disabled' | 'too_many';

export interface SessionInfo {
  readonly sessionId: string;
  readonly deviceId: string | null;
  readonly device: string | null;
  readonly createdAt: Date;
  readonly lastUsedAt: Date;
}
