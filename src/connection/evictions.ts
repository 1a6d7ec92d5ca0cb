import { Injectable, type OnModuleInit } from '@nestjs/common';
import { TenantService } from '../modules/tenant/tenant.service.js';
import type { TenantId, UserId } from '../platform/ids/ids.js';
import { NodeBus } from '../platform/redis/node-bus.js';
import { Closing } from './closing.js';
import { LocalSockets } from './local-sockets.js';

interface EndedSessions {
  readonly tenant: TenantId;
  readonly uid: UserId;
  readonly sessionIds: readonly string[];
}

/** Closes this node's sockets of sessions that were revoked and of tenants that were disabled. */
@Injectable()
export class Evictions implements OnModuleInit {
  constructor(
    private readonly bus: NodeBus,
    private readonly tenants: TenantService,
    private readonly local: LocalSockets,
    private readonly closing: Closing,
  ) {}

  onModuleInit(): void {
    this.bus.handle<EndedSessions>('session:close', ({ tenant, uid, sessionIds }) => {
      const ended = new Set(sessionIds);
      for (const client of this.local.ofUser(tenant, uid)) {
        if (ended.has(client.data.actor.sessionId)) this.closing.close(client, 'revoked');
      }
    });
    this.tenants.onDisabled((tenant) => {
      for (const client of this.local.ofTenant(tenant)) this.closing.close(client, 'tenant_disabled');
    });
  }
}
