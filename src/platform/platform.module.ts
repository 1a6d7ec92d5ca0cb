import { Module, type DynamicModule } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { ENV, type Env } from './env/env.js';
import { SignedCursors } from './http/signed-cursors.js';
import { ControlDb, CONTROL_SCHEMA } from './mysql/control-db.js';
import type { DatabaseSchema } from './mysql/data-source-options.js';
import { TENANT_SCHEMA } from './mysql/tenant-data-sources.js';
import { HealthController } from './observe/health.controller.js';
import { Logger } from './observe/logger.js';
import { Metrics } from './observe/metrics.js';
import { TenantMetrics } from './observe/tenant-metrics.js';
import { Readiness } from './observe/readiness.js';
import { EvictionCheck } from './redis/eviction-check.js';
import { LeasedBuckets } from './redis/leased-buckets.js';
import { CacheStore } from './redis/cache-store.js';
import { KeyRemovals } from './redis/key-removals.js';
import { KnownServer } from './redis/known-server.js';
import { LeaseCaches } from './redis/lease-caches.js';
import { NodeBus } from './redis/node-bus.js';
import { RedisClients } from './redis/redis-clients.js';
import { RedisKeys } from './redis/keys.js';
import { RateLimiter } from './redis/rate-limiter.js';
import { RedisScripts } from './redis/redis-scripts.js';
import { TokenBuckets } from './redis/token-buckets.js';
import { NodeIdentity } from './redis/node-identity.js';
import { SecretBox } from './secrets/secret-box.js';
import { SocketRouter } from './socket/socket-router.js';
import { SocketServer } from './socket/socket-server.js';

export interface Schemas {
  readonly control: DatabaseSchema;
  readonly tenant: DatabaseSchema;
}

/** What every module may use without importing it. */
@Module({})
export class PlatformModule {
  static register(env: Env, schemas: Schemas): DynamicModule {
    const shared = [
      { provide: ENV, useValue: env },
      { provide: CONTROL_SCHEMA, useValue: schemas.control },
      { provide: TENANT_SCHEMA, useValue: schemas.tenant },
      Logger,
      Metrics,
      TenantMetrics,
      Readiness,
      SignedCursors,
      NodeIdentity,
      RedisKeys,
      RedisClients,
      RedisScripts,
      RateLimiter,
      TokenBuckets,
      LeasedBuckets,
      KnownServer,
      KeyRemovals,
      CacheStore,
      LeaseCaches,
      EvictionCheck,
      NodeBus,
      ControlDb,
      SecretBox,
      SocketRouter,
      SocketServer,
    ];
    return {
      module: PlatformModule,
      global: true,
      imports: [DiscoveryModule],
      controllers: [HealthController],
      providers: shared,
      exports: shared,
    };
  }
}
