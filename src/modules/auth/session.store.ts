import { hkdfSync } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { ENV, type Env } from '../../platform/env/env.js';
import { asUserId, isDecimalId, type TenantId, type UserId } from '../../platform/ids/ids.js';
import { TenantDataSources } from '../../platform/mysql/tenant-data-sources.js';
import type { DeviceInfo, RevokeReason, SessionInfo } from './auth.types.js';
import { hashToken, newToken, successorOf } from '../../platform/ids/opaque-tokens.js';
import { SessionEntity } from './session.entity.js';

/** A client that lost the answer to a refresh may repeat it this long and gets the same answer. */
const REUSE_GRACE_SECONDS = 10;
/** Rows of long dead tokens that one login takes away. */
const SWEEP_ROWS = 50;
/** Sessions above the limit that one login ends. */
const ENDED_AT_ONCE = 500;
/** An access token may be issued this long after its session was used last. */
const LATE_SECONDS = 60;

export interface Opened {
  readonly sessionId: string;
  readonly refreshToken: string;
  /** Sessions that had to end for it and that an access token may still be good for. */
  readonly ended: readonly string[];
}

/** What became of a refresh token that was shown. */
export type Rotation =
  | { readonly outcome: 'rotated'; readonly uid: UserId; readonly sessionId: string; readonly refreshToken: string }
  | { readonly outcome: 'reused'; readonly uid: UserId; readonly sessionId: string }
  | { readonly outcome: 'refused' };

interface TokenRow {
  session_id: string;
  used: number | null;
  in_grace: number | null;
  expired: number;
}

const FIND_TOKEN = `
  SELECT session_id, used_at IS NOT NULL AS used, expires_at <= NOW(3) AS expired,
         used_at > NOW(3) - INTERVAL ${REUSE_GRACE_SECONDS} SECOND AS in_grace
  FROM im_refresh_tokens WHERE hash = ?`;

/** Sessions and their refresh tokens. Times are the database's, so that nodes with other clocks agree about the grace. */
@Injectable()
export class SessionStore {
  private readonly successorKey: Buffer;

  constructor(
    private readonly sources: TenantDataSources,
    @Inject(ENV) private readonly env: Env,
  ) {
    this.successorKey = Buffer.from(hkdfSync('sha256', env.JWT_SECRET, '', 'trident-im refresh token successor', 32));
  }

  /**
   * A new session with its first refresh token. Above `most` the longest unused ones end with it.
   * @param check asked in the same transaction: may it begin? It keeps other sessions of the user from beginning meanwhile
   * @returns null when `check` said no
   */
  open(
    tenant: TenantId,
    uid: UserId,
    device: DeviceInfo,
    most: number,
    check: (tx: EntityManager) => Promise<boolean>,
  ): Promise<Opened | null> {
    const refreshToken = newToken(tenant);
    return this.sources.run(tenant, async (db) => {
      await db.query(`DELETE FROM im_refresh_tokens WHERE expires_at < NOW(3) - INTERVAL 1 DAY LIMIT ${SWEEP_ROWS}`);
      return db.transaction(async (tx) => {
        if (!(await check(tx))) return null;
        const session = await tx.insert(SessionEntity, {
          uid,
          deviceId: device.deviceId ?? null,
          device: device.device ?? null,
        });
        const sessionId = String(session.identifiers[0].id);
        await this.addToken(tx, sessionId, refreshToken);
        return { sessionId, refreshToken, ended: await this.endOldest(tx, uid, sessionId, most) };
      });
    });
  }

  /**
   * A refresh that runs holds its session's row: it is waited for, and what it gave out is void with the session. One that
   * comes later finds it revoked.
   */
  private async endOldest(tx: EntityManager, uid: UserId, newest: string, most: number): Promise<string[]> {
    const rows = (await tx.query(
      `SELECT id FROM im_sessions WHERE uid = ? AND revoked_at IS NULL AND id <> ?
       ORDER BY last_used_at DESC, id DESC LIMIT ? OFFSET ?`,
      [uid, newest, ENDED_AT_ONCE, most - 1],
    )) as { id: string }[];
    if (rows.length === 0) return [];
    const ids = rows.map((row) => row.id);
    await tx.query(
      "UPDATE im_sessions SET revoked_at = NOW(3), reason = 'too_many' WHERE id IN (?) AND revoked_at IS NULL",
      [ids],
    );
    const used = (await tx.query(
      'SELECT id FROM im_sessions WHERE id IN (?) AND last_used_at > NOW(3) - INTERVAL ? SECOND',
      [ids, this.env.ACCESS_TOKEN_TTL_SECONDS + LATE_SECONDS],
    )) as { id: string }[];
    return used.map((row) => row.id);
  }

  /**
   * Exchanges a token for its successor. The session's row is locked before the token is judged, so that refreshes,
   * a logout and a revocation of one session happen one after the other; after a logout nothing is exchanged.
   */
  rotate(tenant: TenantId, token: string): Promise<Rotation> {
    const hash = hashToken(token);
    const refreshToken = successorOf(tenant, token, this.successorKey);
    return this.sources.run(tenant, (db) =>
      db.transaction(async (tx): Promise<Rotation> => {
        const [known] = (await tx.query(FIND_TOKEN, [hash])) as TokenRow[];
        if (!known) return { outcome: 'refused' };
        const session = await lockSession(tx, known.session_id);
        if (!session || session.revokedAt !== null) return { outcome: 'refused' };
        const owner = { uid: asUserId(session.uid), sessionId: session.id };
        // Read again: whoever held the lock may have exchanged it just now.
        const [row] = (await tx.query(FIND_TOKEN, [hash])) as TokenRow[];
        if (!row || Number(row.expired) === 1) return { outcome: 'refused' };
        if (Number(row.used) === 1) {
          if (Number(row.in_grace) === 1) return { outcome: 'rotated', refreshToken, ...owner };
          // Somebody shows a token that its owner has exchanged long ago: one of the two is a thief.
          await revoke(tx, session.id, 'refresh_reuse');
          return { outcome: 'reused', ...owner };
        }
        await tx.query('UPDATE im_refresh_tokens SET used_at = NOW(3) WHERE hash = ?', [hash]);
        await tx.query('UPDATE im_sessions SET last_used_at = NOW(3) WHERE id = ?', [session.id]);
        await this.addToken(tx, session.id, refreshToken);
        return { outcome: 'rotated', refreshToken, ...owner };
      }),
    );
  }

  /** @returns `over` when it had ended before, null when there is no such session of this user */
  revoke(tenant: TenantId, uid: UserId, sessionId: string, reason: RevokeReason): Promise<'ended' | 'over' | null> {
    if (!isDecimalId(uid) || !isDecimalId(sessionId)) return Promise.resolve(null);
    return this.sources.run(tenant, (db) =>
      db.transaction(async (tx) => {
        const session = await lockSession(tx, sessionId);
        if (!session || session.uid !== uid) return null;
        if (session.revokedAt !== null) return 'over';
        await revoke(tx, session.id, reason);
        return 'ended';
      }),
    );
  }

  /** Sessions of the user that are not revoked, the newest first; `limit` bounds the answer. */
  async list(tenant: TenantId, uid: UserId, limit: number): Promise<SessionInfo[]> {
    if (!isDecimalId(uid)) return [];
    const rows = await this.sources.run(tenant, (db) =>
      db.query<SessionInfo>(
        `SELECT s.id AS sessionId, s.device_id AS deviceId, s.device, s.created_at AS createdAt,
                s.last_used_at AS lastUsedAt
         FROM im_sessions s
         WHERE s.uid = ? AND s.revoked_at IS NULL AND s.last_used_at > NOW(3) - INTERVAL ? SECOND
         ORDER BY s.id DESC LIMIT ?`,
        [uid, this.env.REFRESH_TOKEN_TTL_SECONDS, limit],
      ),
    );
    return rows;
  }

  /** @returns as `revokeAllIn` */
  async revokeAll(tenant: TenantId, uid: UserId, reason: RevokeReason): Promise<string[]> {
    if (!isDecimalId(uid)) return [];
    return this.sources.run(tenant, (db) => db.transaction((tx) => this.revokeAllIn(tx, uid, reason)));
  }

  /**
   * As `revokeAll`, in the transaction of what makes it necessary.
   * @returns ids of the user's sessions that an access token may still be good for, those that ended before among them
   */
  async revokeAllIn(tx: EntityManager, uid: UserId, reason: RevokeReason): Promise<string[]> {
    await tx.query('UPDATE im_sessions SET revoked_at = NOW(3), reason = ? WHERE uid = ? AND revoked_at IS NULL', [
      reason,
      uid,
    ]);
    // After the update, which waits for refreshes that run: what they gave out is seen now.
    const rows = (await tx.query(
      'SELECT id FROM im_sessions WHERE uid = ? AND last_used_at > NOW(3) - INTERVAL ? SECOND ORDER BY id',
      [uid, this.env.ACCESS_TOKEN_TTL_SECONDS + LATE_SECONDS],
    )) as { id: string }[];
    return rows.map((row) => row.id);
  }

  /** The truth about one session. */
  async stands(tenant: TenantId, uid: UserId, sessionId: string): Promise<boolean> {
    if (!isDecimalId(uid) || !isDecimalId(sessionId)) return false;
    const rows = await this.sources.run(tenant, (db) =>
      db.query('SELECT 1 FROM im_sessions WHERE id = ? AND uid = ? AND revoked_at IS NULL', [sessionId, uid]),
    );
    return rows.length === 1;
  }

  private async addToken(tx: EntityManager, sessionId: string, token: string): Promise<void> {
    await tx.query(
      `INSERT INTO im_refresh_tokens (hash, session_id, expires_at) VALUES (?, ?, NOW(3) + INTERVAL ? SECOND)`,
      [hashToken(token), sessionId, this.env.REFRESH_TOKEN_TTL_SECONDS],
    );
  }
}

function lockSession(tx: EntityManager, sessionId: string): Promise<SessionEntity | null> {
  return tx.findOne(SessionEntity, { where: { id: sessionId }, lock: { mode: 'pessimistic_write' } });
}

async function revoke(tx: EntityManager, sessionId: string, reason: RevokeReason): Promise<void> {
  await tx.query('UPDATE im_sessions SET revoked_at = NOW(3), reason = ? WHERE id = ?', [reason, sessionId]);
}
