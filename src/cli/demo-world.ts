import { Module, type DynamicModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Passwords } from '../modules/auth/passwords.js';
import { GroupLifeService } from '../modules/group/group-life.service.js';
import { GroupModule } from '../modules/group/group.module.js';
import { RelationModule } from '../modules/relation/relation.module.js';
import { RelationService } from '../modules/relation/relation.service.js';
import { TenantModule } from '../modules/tenant/tenant.module.js';
import { TenantProvisioning } from '../modules/tenant/tenant.provisioning.js';
import { TenantService } from '../modules/tenant/tenant.service.js';
import { UserModule } from '../modules/user/user.module.js';
import { UserService } from '../modules/user/user.service.js';
import type { Env } from '../platform/env/env.js';
import type { TenantId, UserId } from '../platform/ids/ids.js';
import { TenantDataSources } from '../platform/mysql/tenant-data-sources.js';
import { PlatformModule } from '../platform/platform.module.js';
import { RedisClients } from '../platform/redis/redis-clients.js';
import { schemas } from '../schema.js';
import { ACCOUNTS, DEMO_PASSWORD, LOBBY, type DemoTenant } from './demo-plan.js';
import { UsageError } from './run-cli.js';

const REDIS_WAIT_MS = 5_000;

@Module({})
class DemoModule {
  static register(env: Env): DynamicModule {
    const quiet: Env = { ...env, LOG_LEVEL: 'error' };
    return {
      module: DemoModule,
      imports: [PlatformModule.register(quiet, schemas), TenantModule, UserModule, RelationModule, GroupModule],
    };
  }
}

/** Makes what is missing of the demo world in these tenants, through the product's own services. */
export async function makeDemoWorld(env: Env, tenants: readonly DemoTenant[]): Promise<void> {
  await makeTenants(env, tenants);
  // An application that does not listen: groups are announced to the sockets of running nodes.
  const app = await NestFactory.create(DemoModule.register(env), { logger: false, abortOnError: false });
  try {
    await app.init();
    if (!(await app.get(RedisClients).waitReady(REDIS_WAIT_MS))) {
      throw new UsageError('Redis does not answer (REDIS_URL).');
    }
    for (const { code } of tenants) await fillTenant(app, app.get(TenantService).byCode(code).id);
  } finally {
    await app.close();
  }
}

async function makeTenants(env: Env, tenants: readonly DemoTenant[]): Promise<void> {
  const provisioning = await TenantProvisioning.open(env, schemas);
  try {
    const known = new Set((await provisioning.list()).map((row) => row.code));
    for (const { code, name } of tenants) {
      if (!known.has(code)) await provisioning.create({ code, name, settings: { registration: 'open' } });
    }
  } finally {
    await provisioning.close();
  }
}

interface Services {
  get<T>(type: abstract new (...args: never[]) => T, options?: { strict: boolean }): T;
}

async function fillTenant(services: Services, tenant: TenantId): Promise<void> {
  const uids: UserId[] = [];
  for (const account of ACCOUNTS) uids.push(await userOf(services.get(UserService), tenant, account));
  const [alice, bob, ...others] = uids;
  await services.get(RelationService).befriend(tenant, alice, bob);
  if (await hasLobby(services.get(TenantDataSources), tenant, alice)) return;
  const actor = { tenant, uid: alice, sessionId: '0' };
  await services.get(GroupLifeService, { strict: false }).create(actor, { name: LOBBY, memberUids: [bob, ...others] });
}

async function userOf(users: UserService, tenant: TenantId, account: string): Promise<UserId> {
  const known = await users.findByAccount(tenant, account);
  if (known) return known.uid;
  const passwordHash = await new Passwords().hash(DEMO_PASSWORD);
  const nickname = account[0].toUpperCase() + account.slice(1);
  return users.create(tenant, { account, nickname, passwordHash });
}

async function hasLobby(sources: TenantDataSources, tenant: TenantId, owner: UserId): Promise<boolean> {
  const rows = await sources.run(tenant, (db) =>
    db.query("SELECT 1 FROM im_groups WHERE owner_uid = ? AND name = ? AND state = 'active' LIMIT 1", [owner, LOBBY]),
  );
  return rows.length > 0;
}
