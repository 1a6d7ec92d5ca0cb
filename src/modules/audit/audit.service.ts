import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { Operator } from '../../platform/http/operator.js';

export interface AuditEntry {
  /** Uid of who did it, or the operator, whose name goes into the detail. */
  readonly actor: string | Operator;
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
  async record(tx: EntityManager, { actor, action, target, detail }: AuditEntry): Promise<void> {
    const byUser = typeof actor === 'string';
    const told = byUser ? detail : { ...detail, operator: actor.name, source: actor.source };
    await tx.query('INSERT INTO im_audit_logs (actor, action, target, detail, created_at) VALUES (?, ?, ?, ?, ?)', [
      byUser ? BigInt(actor) : 0n,
      action,
      target,
      told === undefined ? null : JSON.stringify(told),
      new Date(),
    ]);
  }
}

export interface AdminAuditEntry {
  /** Such as `tenant.disable`. */
  readonly action: string;
  /** Such as `tenant/7`. */
  readonly target: string;
  /** Values of fields that look like secrets are left out by themselves. */
  readonly detail?: object;
}

export interface AdminAuditRow extends Omit<AdminAuditEntry, 'detail'> {
  readonly id: string;
  readonly operator: string;
  readonly source: string;
  readonly detail: string | null;
  readonly createdAt: Date;
}

/** Such as `smtpPass` and `aesKey`, too; better one name too many. */
const SECRET_NAME = /secret|passw|passphrase|pass$|pwd|token|credential|private|access_?key|key$/i;
export const REDACTED = '[redacted]';

/** A copy in which whatever is named like a secret is blacked out, at any depth. */
export function redacted(value: unknown, name = ''): unknown {
  if (SECRET_NAME.test(name) && value !== null && value !== '' && typeof value !== 'boolean') return REDACTED;
  if (Array.isArray(value)) return value.map((item) => redacted(item, name));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, redacted(item, key)]));
}

/** The audit log of the control database. */
@Injectable()
export class AdminAudit {
  /** @param tx the control database's transaction in which the change itself is made */
  async record(tx: EntityManager, by: Operator, entry: AdminAuditEntry): Promise<void> {
    const detail = entry.detail === undefined ? null : JSON.stringify(redacted(entry.detail));
    await tx.query(
      'INSERT INTO im_admin_audit_logs (operator, source, action, target, detail) VALUES (?, ?, ?, ?, ?)',
      [by.name, by.source, entry.action, entry.target, detail],
    );
  }

  /** The newest first. @param beforeId exclusive; null for the newest page */
  async list(manager: EntityManager, beforeId: string | null, limit: number): Promise<AdminAuditRow[]> {
    return manager.query(
      `SELECT id, operator, source, action, target, detail, created_at AS createdAt FROM im_admin_audit_logs
       WHERE id < ? ORDER BY id DESC LIMIT ?`,
      [beforeId === null ? '9223372036854775807' : beforeId, limit],
    );
  }
}
