import { Injectable } from '@nestjs/common';
import { AppError } from '../../platform/errors/app-error.js';
import type { Operator } from '../../platform/http/operator.js';
import type { TenantId, UserId } from '../../platform/ids/ids.js';
import { TenantDataSources } from '../../platform/mysql/tenant-data-sources.js';
import { AuditService } from '../audit/audit.service.js';
import { TenantService } from '../tenant/tenant.service.js';
import { UserService } from '../user/user.service.js';
import { SessionService } from './session.service.js';

/** Switches users off and on, by the operator's word. */
@Injectable()
export class UserStatusService {
  constructor(
    private readonly sources: TenantDataSources,
    private readonly tenants: TenantService,
    private readonly users: UserService,
    private readonly sessions: SessionService,
    private readonly audit: AuditService,
  ) {}

  /**
   * From the answer on no log-in and no refresh of this user succeeds; his sessions are over and their sockets closed on
   * all nodes. His messages and memberships stay. Repeating it tells the nodes again.
   * @throws AppError NOT_FOUND, TENANT_UNKNOWN, TENANT_DISABLED
   */
  async disable(tenant: TenantId, uid: UserId, by: Operator): Promise<void> {
    this.tenants.get(tenant);
    const ended = await this.sources.run(tenant, (db) =>
      db.transaction(async (tx) => {
        const changed = await this.users.setStatusIn(tx, uid, 'disabled');
        if (changed === null) throw new AppError('NOT_FOUND');
        if (changed) await this.audit.record(tx, { actor: by, action: 'user.disable', target: uid });
        return this.sessions.revokeAllIn(tx, uid, 'user_disabled');
      }),
    );
    await this.sessions.announceEnd(tenant, uid, ended);
  }

  /** @throws as `disable` */
  async enable(tenant: TenantId, uid: UserId, by: Operator): Promise<void> {
    this.tenants.get(tenant);
    await this.sources.run(tenant, (db) =>
      db.transaction(async (tx) => {
        const changed = await this.users.setStatusIn(tx, uid, 'active');
        if (changed === null) throw new AppError('NOT_FOUND');
        if (changed) await this.audit.record(tx, { actor: by, action: 'user.enable', target: uid });
      }),
    );
  }
}
