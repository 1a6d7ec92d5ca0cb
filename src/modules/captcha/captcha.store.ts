import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { UserId } from '../../platform/ids/ids.js';
import { TenantDataSources } from '../../platform/mysql/tenant-data-sources.js';
import { insertActionToken } from './action-token.store.js';
import type { CaptchaName, CaptchaSubject } from './captcha-secrets.js';
import { QUOTA } from './captcha.redis.js';
import { MAX_TRIES, type Scene } from './captcha.types.js';

/** Rows of codes long over that one new code takes away. */
const SWEEP_ROWS = 50;
const KEPT_DAYS = 7;

export interface NewCaptcha {
  readonly id: string;
  readonly subject: CaptchaSubject;
  readonly uid: UserId | null;
  readonly codeHash: Buffer;
  readonly lifeMs: number;
}

/** What became of a try. `attempts` counts all tries of the code, this one too. */
export type Verification =
  | { readonly outcome: 'verified' | 'wrong'; readonly subject: CaptchaSubject; readonly attempts: number }
  | { readonly outcome: 'locked' | 'used' | 'expired' | 'superseded' | 'unknown'; readonly attempts: number };

interface Row {
  scene: Scene;
  phone_hash: Buffer;
  uid: string | null;
  status: string;
  reason: string | null;
  attempts: number | string;
  over: number | string;
}

/** The one decision: counts the try, compares, and burns the code, in one statement on one row. */
const TRY = `
  UPDATE im_captchas
  SET status = CASE WHEN code_hash = ? THEN 'verified' WHEN attempts + 1 >= ${MAX_TRIES} THEN 'failed' ELSE status END,
      reason = CASE WHEN code_hash = ? THEN NULL WHEN attempts + 1 >= ${MAX_TRIES} THEN 'tries' ELSE NULL END,
      verified_at = CASE WHEN code_hash = ? THEN NOW(3) ELSE NULL END,
      attempts = attempts + 1
  WHERE id = ? AND status = 'sent' AND attempts < ${MAX_TRIES} AND expires_at > NOW(3)`;

const LOOK = `
  SELECT scene, phone_hash, uid, status, reason, attempts, expires_at <= NOW(3) AS \`over\`
  FROM im_captchas WHERE id = ?`;

/**
 * The state machine of codes: created → sent → verified → consumed, or failed (send, tries, superseded) or expired. Every
 * step is one conditional update that names the state it comes from. Times are the database's.
 */
@Injectable()
export class CaptchaStore {
  constructor(private readonly sources: TenantDataSources) {}

  /**
   * A code that is not sent yet, unless the phone had its quota within an hour: Redis counts first, but may have forgotten.
   * @returns ms to wait when it had, else null
   */
  create(captcha: NewCaptcha): Promise<number | null> {
    const { subject, id, uid, codeHash, lifeMs } = captcha;
    return this.sources.run(subject.tenant, async (db) => {
      const waitMs = await this.quotaWaitMs(subject, (sql, values) => db.query(sql, values));
      if (waitMs !== null) return waitMs;
      await db.query(
        `INSERT INTO im_captchas (id, scene, phone_hash, uid, code_hash, status, created_at, expires_at)
         VALUES (?, ?, ?, ?, ?, 'created', NOW(3), NOW(3) + INTERVAL ? MICROSECOND)`,
        [id, subject.scene, subject.phoneHash, uid, codeHash, lifeMs * 1000],
      );
      await db.query(
        `DELETE FROM im_captchas WHERE expires_at < NOW(3) - INTERVAL ${KEPT_DAYS} DAY ORDER BY expires_at LIMIT ${SWEEP_ROWS}`,
      );
      return null;
    });
  }

  /** The code is in force from now on, and those before it are not. */
  async markSent({ tenant, id }: CaptchaName, { scene, phoneHash }: CaptchaSubject): Promise<void> {
    await this.sources.run(tenant, (db) =>
      db.transaction(async (tx) => {
        await tx.query(
          `UPDATE im_captchas SET status = 'failed', reason = 'superseded', code_hash = NULL
           WHERE phone_hash = ? AND scene = ? AND status = 'sent' AND id <> ?`,
          [phoneHash, scene, id],
        );
        await tx.query("UPDATE im_captchas SET status = 'sent', sent_at = NOW(3) WHERE id = ? AND status = 'created'", [
          id,
        ]);
      }),
    );
  }

  /** It certainly did not go out, and does not count. */
  async markUnsent({ tenant, id }: CaptchaName): Promise<void> {
    await this.sources.run(tenant, (db) =>
      db.query(
        "UPDATE im_captchas SET status = 'failed', reason = 'send', code_hash = NULL WHERE id = ? AND status = 'created'",
        [id],
      ),
    );
  }

  /**
   * One try. Of any number at once at most one is right, and no more than five are compared with the code at all.
   * @param token becomes good when the code is right, in the same transaction
   */
  verify(name: CaptchaName, codeHash: Buffer, token: { hash: Buffer; lifeMs: number }): Promise<Verification> {
    return this.sources.run(name.tenant, (db) =>
      db.transaction(async (tx): Promise<Verification> => {
        const tried = await changed(tx, TRY, [codeHash, codeHash, codeHash, name.id]);
        const [row] = (await tx.query(LOOK, [name.id])) as Row[];
        if (!row) return { outcome: 'unknown', attempts: 0 };
        const attempts = Number(row.attempts);
        if (!tried) return this.whyNot(tx, name, row);
        const subject = { tenant: name.tenant, scene: row.scene, phoneHash: row.phone_hash };
        // The row is ours until the commit: what it says now, this try has done.
        if (row.status !== 'sent') await tx.query('UPDATE im_captchas SET code_hash = NULL WHERE id = ?', [name.id]);
        if (row.status !== 'verified') return { outcome: 'wrong', subject, attempts };
        await insertActionToken(tx, {
          hash: token.hash,
          purpose: row.scene,
          captchaId: name.id,
          phoneHash: row.phone_hash,
          uid: row.uid,
          lifeMs: token.lifeMs,
        });
        return { outcome: 'verified', subject, attempts };
      }),
    );
  }

  private async whyNot(tx: EntityManager, name: CaptchaName, row: Row): Promise<Verification> {
    const attempts = Number(row.attempts);
    if (row.status === 'verified' || row.status === 'consumed') return { outcome: 'used', attempts };
    if (row.reason === 'tries') return { outcome: 'locked', attempts };
    if (row.reason === 'superseded') return { outcome: 'superseded', attempts };
    if (row.status === 'expired') return { outcome: 'expired', attempts };
    if (row.status === 'sent' && Number(row.over) === 1) {
      await tx.query(
        "UPDATE im_captchas SET status = 'expired', code_hash = NULL WHERE id = ? AND status = 'sent' AND expires_at <= NOW(3)",
        [name.id],
      );
      return { outcome: 'expired', attempts };
    }
    // Not sent yet, or never.
    return { outcome: 'unknown', attempts };
  }

  private async quotaWaitMs(
    { scene, phoneHash }: CaptchaSubject,
    query: (sql: string, values: unknown[]) => Promise<{ wait_ms: string | null }[]>,
  ): Promise<number | null> {
    const windowMs = QUOTA.windowMs;
    const [oldest] = await query(
      `SELECT TIMESTAMPDIFF(MICROSECOND, NOW(3), created_at + INTERVAL ? MICROSECOND) DIV 1000 AS wait_ms
       FROM im_captchas
       WHERE phone_hash = ? AND scene = ? AND created_at > NOW(3) - INTERVAL ? MICROSECOND
         AND NOT (status = 'failed' AND reason = 'send')
       ORDER BY created_at DESC LIMIT 1 OFFSET ?`,
      [windowMs * 1000, phoneHash, scene, windowMs * 1000, QUOTA.most - 1],
    );
    return oldest ? Math.max(1, Number(oldest.wait_ms)) : null;
  }
}

/** Did a conditional update find its row? */
async function changed(tx: EntityManager, sql: string, values: unknown[]): Promise<boolean> {
  const result = (await tx.query(sql, values)) as { affectedRows: number };
  return result.affectedRows === 1;
}
