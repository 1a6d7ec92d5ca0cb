import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';

export interface AuditEntry {
  /** Uid of who did it; `0` is the system. */
  readonly actor: string;
  /** Such as `message.remove`. */
  readonly action: string;
  /** Such as `grp_1/42`. */
  readonly target: string;
  /** Never content, phones or secrets. */
  readonly detail?: object;
}

/** The tenant's audit log; an entry is written in the transaction of what it records. */
@Injectable()
export class AuditService {
  async record(tx: EntityManager, entry: AuditEntry): Promise<void> {
    const detail = entry.detail === undefined ? null : JSON.stringify(entry.detail);
    await tx.query('INSERT INTO im_audit_logs (actor, action, target, detail, created_at) VALUES (?, ?, ?, ?, ?)', [
      BigInt(entry.actor),
      entry.action,
      entry.target,
      detail,
      new Date(),
    ]);
  }
}
