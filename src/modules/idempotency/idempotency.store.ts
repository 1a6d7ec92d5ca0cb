import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { AppError } from '../../platform/errors/app-error.js';
import type { Actor } from '../../platform/ids/ids.js';
import { isDuplicate } from '../../platform/mysql/mysql-errors.js';
import { TenantDataSources } from '../../platform/mysql/tenant-data-sources.js';

/** Rows of keys that have ended that one keyed call takes away. */
const SWEEP_ROWS = 20;
/** Longer than any call takes. */
export const RUNNING_SECONDS = 60;

export interface CarriedOut {
  readonly digest: Buffer;
  /** JSON of the answer; null when it was never given: the node died in between, or the call failed after its commit. */
  readonly answer: string | null;
  /** Was it committed so lately that its answer may be on its way? */
  readonly lately: boolean;
}

interface CarriedOutRow extends Pick<CarriedOut, 'digest' | 'answer'> {
  readonly old: number | string;
  readonly lately: number | string;
}

/** Which keyed calls were carried out: written in the transaction of what they did. */
@Injectable()
export class IdempotencyStore {
  constructor(private readonly databases: TenantDataSources) {}

  /** What became of an earlier call with this key; null when nothing of one was committed within `keepSeconds`. */
  async find(actor: Actor, key: string, keepSeconds: number): Promise<CarriedOut | null> {
    return this.databases.run(actor.tenant, async (db) => {
      const [row] = await db.query<CarriedOutRow>(
        `SELECT digest, answer, created_at <= NOW(3) - INTERVAL ? SECOND AS old,
                created_at > NOW(3) - INTERVAL ? SECOND AS lately
         FROM im_idempotency_keys WHERE uid = ? AND id_key = ?`,
        [keepSeconds, RUNNING_SECONDS, actor.uid, key],
      );
      if (!row) return null;
      if (Number(row.old) === 0) return { digest: row.digest, answer: row.answer, lately: Number(row.lately) === 1 };
      await db.query(
        'DELETE FROM im_idempotency_keys WHERE uid = ? AND id_key = ? AND created_at <= NOW(3) - INTERVAL ? SECOND',
        [actor.uid, key, keepSeconds],
      );
      return null;
    });
  }

  /** In the transaction of what the call does. @throws AppError IN_PROGRESS when the same call was committed meanwhile */
  async mark(tx: EntityManager, { uid }: Actor, key: string, digest: Buffer): Promise<void> {
    try {
      await tx.query('INSERT INTO im_idempotency_keys (uid, id_key, digest, created_at) VALUES (?, ?, ?, NOW(3))', [
        uid,
        key,
        digest,
      ]);
    } catch (error) {
      if (isDuplicate(error)) throw new AppError('IN_PROGRESS', { cause: error, retryAfterMs: 1000 });
      throw error;
    }
  }

  /** Also for a call that needed no transaction. Takes some rows away that ended `keepSeconds` ago, whosever they are. */
  async answer(
    { tenant, uid }: Actor,
    key: string,
    digest: Buffer,
    answer: string,
    keepSeconds: number,
  ): Promise<void> {
    await this.databases.run(tenant, async (db) => {
      await db.query(
        `INSERT INTO im_idempotency_keys (uid, id_key, digest, answer, created_at) VALUES (?, ?, ?, ?, NOW(3))
         ON DUPLICATE KEY UPDATE answer = IF(digest = VALUES(digest), VALUES(answer), answer)`,
        [uid, key, digest, answer],
      );
      await db.query(
        `DELETE FROM im_idempotency_keys WHERE created_at < NOW(3) - INTERVAL ? SECOND
         ORDER BY created_at LIMIT ${SWEEP_ROWS}`,
        [keepSeconds * 2],
      );
    });
  }
}
