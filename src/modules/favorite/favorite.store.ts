import { Injectable } from '@nestjs/common';
import { asSeq, type Seq, type TenantId, type Topic, type UserId } from '../../platform/ids/ids.js';
import { TenantDataSources } from '../../platform/mysql/tenant-data-sources.js';
import type { FavoriteRef } from './favorite.types.js';

interface Row {
  readonly id: string;
  readonly topic: Topic;
  readonly seqid: string;
  readonly created_at: Date;
}

const COLUMNS = 'id, topic, seqid, created_at';

/** `im_favorites`. */
@Injectable()
export class FavoriteStore {
  constructor(private readonly tenants: TenantDataSources) {}

  /** Keeping what is kept already changes nothing. @returns what is stored now */
  async add(tenant: TenantId, uid: UserId, topic: Topic, seq: Seq): Promise<FavoriteRef> {
    return this.tenants.run(tenant, async (db) => {
      await db.query(
        `INSERT INTO im_favorites (uid, topic, seqid, created_at) VALUES (?, ?, ?, ?)
         ON DUPLICATE KEY UPDATE seqid = VALUES(seqid)`,
        [BigInt(uid), topic, seq, new Date()],
      );
      const [row] = await db.query<Row>(
        `SELECT ${COLUMNS} FROM im_favorites WHERE uid = ? AND topic = ? AND seqid = ?`,
        [BigInt(uid), topic, seq],
      );
      return refOf(row);
    });
  }

  async remove(tenant: TenantId, uid: UserId, topic: Topic, seq: Seq): Promise<void> {
    await this.tenants.run(tenant, (db) =>
      db.query('DELETE FROM im_favorites WHERE uid = ? AND topic = ? AND seqid = ?', [BigInt(uid), topic, seq]),
    );
  }

  async count(tenant: TenantId, uid: UserId): Promise<number> {
    const [row] = await this.tenants.run(tenant, (db) =>
      db.query<{ n: string }>('SELECT COUNT(*) AS n FROM im_favorites WHERE uid = ?', [BigInt(uid)]),
    );
    return Number(row.n);
  }

  /** The newest first. @param beforeId exclusive; null = from the newest */
  async list(tenant: TenantId, uid: UserId, beforeId: string | null, limit: number): Promise<FavoriteRef[]> {
    const before = beforeId === null ? '' : 'AND id < ?';
    const rows = await this.tenants.run(tenant, (db) =>
      db.query<Row>(`SELECT ${COLUMNS} FROM im_favorites WHERE uid = ? ${before} ORDER BY id DESC LIMIT ?`, [
        BigInt(uid),
        ...(beforeId === null ? [] : [BigInt(beforeId)]),
        limit,
      ]),
    );
    return rows.map(refOf);
  }
}

const refOf = (row: Row): FavoriteRef => ({
  id: String(row.id),
  topic: row.topic,
  seq: asSeq(Number(row.seqid)),
  createdAt: row.created_at.toISOString(),
});
