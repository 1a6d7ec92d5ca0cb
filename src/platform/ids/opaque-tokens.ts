import { createHash, createHmac, randomBytes } from 'node:crypto';
import { asTenantId, isDecimalId, type TenantId } from './ids.js';

const SECRET_BYTES = 32;
/** 32 bytes as base64url. */
const SECRET = /^[A-Za-z0-9_-]{43}$/;

/** `<tenantId>.<32 random bytes>`: the tenant is needed to find the record; a changed one finds nothing. */
export function newToken(tenant: TenantId): string {
  return `${tenant}.${randomBytes(SECRET_BYTES).toString('base64url')}`;
}

/** The tenant that a token names; null when it is no token of ours. Says nothing about its validity. */
export function tenantOfToken(token: unknown): TenantId | null {
  if (typeof token !== 'string' || token.length > 100) return null;
  const [tenant, secret, ...rest] = token.split('.');
  return rest.length === 0 && isDecimalId(tenant) && SECRET.test(secret ?? '') ? asTenantId(tenant) : null;
}

/** What is stored of a token. It has 256 random bits, so a plain hash is enough. */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/**
 * The token that a refresh token is exchanged for: computed, so that two refreshes at once get the same one although
 * only hashes are stored.
 */
export function successorOf(tenant: TenantId, token: string, serverKey: Buffer): string {
  return `${tenant}.${createHmac('sha256', serverKey).update(token).digest('base64url')}`;
}
