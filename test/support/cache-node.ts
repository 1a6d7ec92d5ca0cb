import { loadEnv } from '../../src/platform/env/env.js';
import type { TenantId } from '../../src/platform/ids/ids.js';
import { Logger } from '../../src/platform/observe/logger.js';
import { Metrics } from '../../src/platform/observe/metrics.js';
import { CacheStore, type CacheOptions } from '../../src/platform/redis/cache-store.js';
import { KeyRemovals } from '../../src/platform/redis/key-removals.js';
import { KnownServer } from '../../src/platform/redis/known-server.js';
import { LeaseCaches } from '../../src/platform/redis/lease-caches.js';
import { RedisClients } from '../../src/platform/redis/redis-clients.js';
import { RedisScripts, RedisUnavailable, type RedisScript } from '../../src/platform/redis/redis-scripts.js';
import { givenServers, nodeEnvironment } from './environment.js';
import { until } from './until.js';

/** Redis as a node sees it, which a test can take away. */
export class SwitchableScripts extends RedisScripts {
  down = false;

  override run(script: RedisScript, keys: readonly string[], args: readonly (string | number | Buffer)[]) {
    return this.down ? Promise.reject(new RedisUnavailable()) : super.run(script, keys, args);
  }

  override command<T>(name: string, call: (client: RedisClients['command']) => Promise<T>): Promise<T> {
    return this.down ? Promise.reject(new RedisUnavailable()) : super.command(name, call);
  }
}

/** What a node has for its caches, on a real Redis. */
export class CacheNode {
  private constructor(
    readonly name: string,
    readonly clients: RedisClients,
    readonly scripts: SwitchableScripts,
    readonly removals: KeyRemovals,
    readonly server: KnownServer,
    readonly caches: LeaseCaches,
    readonly metrics: Metrics,
  ) {}

  static async open(name: string, settings: Record<string, string> = {}): Promise<CacheNode> {
    const env = loadEnv({ ...nodeEnvironment(name, givenServers(), settings), PORT: '1' });
    const [log, metrics] = [new Logger(env), new Metrics()];
    const clients = new RedisClients(env, log, metrics);
    const scripts = new SwitchableScripts(clients, env, log, metrics);
    const removals = new KeyRemovals(scripts, log);
    const server = new KnownServer(clients);
    const caches = new LeaseCaches(new CacheStore(clients, scripts, server, removals), log, metrics);
    if (!(await clients.waitReady(10_000))) throw new Error('no Redis');
    await until('the node knows its Redis', () => server.runId !== null);
    return new CacheNode(name, clients, scripts, removals, server, caches, metrics);
  }

  /** Options of a cache of the test's own. */
  options(cache: string, ttlSeconds = 300): CacheOptions {
    return { name: cache, ttlSeconds, keyOf: (tenant: TenantId, id: string) => this.key(tenant, cache, id) };
  }

  key(tenant: TenantId, cache: string, id: string): string {
    return `${this.name}:${tenant}:${cache}:{${id}}`;
  }

  async counted(cache: string, result: string): Promise<number> {
    const { values } = await this.metrics.registry.getSingleMetric('im_cache_requests_total')!.get();
    return values.find(({ labels }) => labels.cache === cache && labels.result === result)?.value ?? 0;
  }

  async close(): Promise<void> {
    this.removals.onApplicationShutdown();
    await this.clients.onApplicationShutdown();
  }
}
