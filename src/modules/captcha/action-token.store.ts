import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { TenantId, UserId } from '../../platform/ids/ids.js';
import { TenantDataSources } from '../../platform/mysql/tenant-data-sources.js';
import type { ActionProof, Scene } from './captcha.types.js';

const SWEEP_ROWS = 50;
const KEPT_DAYS = 7;

export interface NewActionToken {
  readonly hash: Buffer;
  readonly purpose: Scene;
  readonly captchaId: string;
  readonly phoneHash: Buffer;
  /** Who alone may spend it; null for the scenes in which nobody is logged in. */
  readonly uid: string | null;
  readonly lifeMs: number;
}

/** Which token is to be spent, on what and by whom. */
export interface Spending {
  readonly hash: Buffer;
  readonly purpose: Scene;
  readonly uid: UserId | null;
}

export type Spent<T> =
  { readonly outcome: 'spent'; readonly result: T } | { readonly outcome: 'used' | 'expired' | 'unknown' };

/** Writes the token of a right code, in the transaction that found it right. */
export async function insertActionToken(tx: EntityManager, token: NewActionToken): Promise<void> {
  await tx.query(
    `INSERT INTO im_action_tokens (hash, purpose, captcha_id, phone_hash, uid, created_at, expires_at)
     VALUES (?, ?, ?, ?, ?, NOW(3), NOW(3) + INTERVAL ? MICROSECOND)`,
    [token.hash, token.purpose, token.captchaId, token.phoneHash, token.uid, token.lifeMs * 1000],
  );
}

/** Action tokens: single use by one conditional update, together with what they allow. */
@Injectable()
export class ActionTokenStore {
  constructor(private readonly sources: TenantDataSources) {}

  /**
   * Spends the token and does `work` in one transaction: both or neither. A work that is refused (by an error) leaves the
   * token as it was. May run `work` again after a deadlock, so it must have no effect outside of `tx`.
   */
  async spend<T>(
    tenant: TenantId,
    spending: Spending,
    work: (tx: EntityManager, proof: ActionProof) => Promise<T>,
  ): Promise<Spent<T>> {
    const { hash, purpose, uid } = spending;
    return this.sources.run(tenant, async (db) => {
      await db.query(
        `DELETE FROM im_action_tokens WHERE expires_at < NOW(3) - INTERVAL ${KEPT_DAYS} DAY ORDER BY expires_at LIMIT ${SWEEP_ROWS}`,
      );
      return db.transaction(async (tx): Promise<Spent<T>> => {
        const { affectedRows } = (await tx.query(
          `UPDATE im_action_tokens SET used_at = NOW(3)
           WHERE hash = ? AND purpose = ? AND uid <=> ? AND used_at IS NULL AND expires_at > NOW(3)`,
          [hash, purpose, uid],
        )) as { affectedRows: number };
        const [row] = (await tx.query(
          `SELECT captcha_id, phone_hash, used_at IS NOT NULL AS used
           FROM im_action_tokens WHERE hash = ? AND purpose = ? AND uid <=> ?`,
          [hash, purpose, uid],
        )) as { captcha_id: string; phone_hash: Buffer; used: number | string }[];
        if (!row) return { outcome: 'unknown' };
        if (affectedRows !== 1) return { outcome: Number(row.used) === 1 ? 'used' : 'expired' };
        await tx.query(
          "UPDATE im_captchas SET status = 'consumed', consumed_at = NOW(3) WHERE id = ? AND status = 'verified'",
          [row.captcha_id],
        );
        return { outcome: 'spent', result: await work(tx, { phoneHash: row.phone_hash }) };
      });
    });
  }
}
