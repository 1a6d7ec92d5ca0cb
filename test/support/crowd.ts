import { createHmac } from 'node:crypto';
import { JWT_SECRET } from './environment.js';
import type { Stage, TestUser } from './stage.js';

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** An access token as a login would give it; hundreds of log-ins would test the cost of passwords and nothing else. */
function tokenOf(tenant: string, uid: string, sessionId: string): string {
  const iat = Math.floor(Date.now() / 1000);
  const who = { t: tenant, sid: sessionId, sub: uid };
  const claims = { ...who, iss: 'trident-im', aud: 'trident-im/access', iat, exp: iat + 3600 };
  const signed = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(claims)}`;
  return `${signed}.${createHmac('sha256', JWT_SECRET).update(signed).digest('base64url')}`;
}

/** Sessions of the crowd have numbers that no login gives. */
const sessionOf = (uid: string): string => String(BigInt(uid) + 1_000_000n);

/** Many users, each logged in once. */
export async function crowd(stage: Stage, code: string, tenant: string, size: number): Promise<TestUser[]> {
  await stage.addUsers(
    code,
    Array.from({ length: size }, (_, index) => `crowd-${index}`),
  );
  const rows = await stage.sql<{ id: string; account: string }>(
    code,
    "SELECT id, account FROM im_users WHERE account LIKE 'crowd-%' ORDER BY id",
  );
  const users = rows.map(({ id, account }) => ({ uid: String(id), account }));
  await stage.sql(code, 'INSERT INTO im_sessions (id, uid) VALUES ?', [users.map(({ uid }) => [sessionOf(uid), uid])]);
  return users.map((user) => ({
    ...user,
    accessToken: tokenOf(tenant, user.uid, sessionOf(user.uid)),
    refreshToken: '',
  }));
}
