import { hashToken, newToken, successorOf, tenantOfToken } from '../../../src/platform/ids/opaque-tokens.js';
import { asTenantId } from '../../../src/platform/ids/ids.js';

const tenant = asTenantId('7');

it('names its tenant and is never the same twice', () => {
  const tokens = Array.from({ length: 100 }, () => newToken(tenant));
  expect(new Set(tokens).size).toBe(100);
  expect(tokens.every((token) => tenantOfToken(token) === tenant)).toBe(true);
});

it.each([
  undefined,
  null,
  7,
  {},
  ['7.x'],
  '',
  '7',
  '7.',
  `.${'A'.repeat(43)}`,
  `0.${'A'.repeat(43)}`,
  `07.${'A'.repeat(43)}`,
  `7.${'A'.repeat(42)}`,
  `7.${'A'.repeat(44)}`,
  `7.${'A'.repeat(42)}=`,
  `7.${'A'.repeat(43)}.x`,
  ` 7.${'A'.repeat(43)}`,
])('is not %j', (text) => expect(tenantOfToken(text)).toBeNull());

it('has one successor per server key, which is a token of the same tenant', () => {
  const token = newToken(tenant);
  const [key, otherKey] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
  const successor = successorOf(tenant, token, key);
  expect(successorOf(tenant, token, key)).toBe(successor);
  expect(tenantOfToken(successor)).toBe(tenant);
  expect(successorOf(tenant, token, otherKey)).not.toBe(successor);
  expect(successorOf(tenant, newToken(tenant), key)).not.toBe(successor);
  // Who steals the table of hashes cannot compute it.
  expect(successor).not.toContain(hashToken(token).toString('base64url'));
});
