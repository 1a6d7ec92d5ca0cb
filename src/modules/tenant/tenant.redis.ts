import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { ENV, type Env, type ToolEnv } from '../../platform/env/env.js';
import { RedisKeys } from '../../platform/redis/keys.js';
import { RedisScripts } from '../../platform/redis/redis-scripts.js';
import { createRedisClient, type RedisClient } from '../../platform/redis/redis-clients.js';

/** The channel on which "the control database has changed" is told to all nodes. */
@Injectable()
export class TenantChanges implements OnApplicationShutdown {
  private sub?: RedisClient;

  constructor(
    @Inject(ENV) private readonly env: Env,
    private readonly keys: RedisKeys,
    private readonly scripts: RedisScripts,
  ) {}

  /** Tells all nodes to read the control database again. @throws RedisUnavailable */
  async publish(): Promise<void> {
    const channel = this.keys.of('configChanged', {});
    await this.scripts.command('config_changed', (client) => client.publish(channel, 'changed'));
  }

  /** Calls `reload` at every message, and when the connection is there (again): messages may have been missed. */
  listen(reload: () => void): void {
    const channel = this.keys.of('configChanged', {});
    const sub = createRedisClient(this.env, 'sub');
    this.sub = sub;
    sub.on('error', () => undefined);
    sub.on('message', reload);
    sub.on('ready', () => {
      // Each time: one that was under way when a connection ended is not restored by the client library.
      sub.subscribe(channel).then(reload, reload);
    });
  }

  onApplicationShutdown(): void {
    this.sub?.disconnect();
  }
}

/**
 * Tells all nodes to read the tenants again, for a process that has no Redis connection of its own.
 * @returns false when Redis does not answer in time: the nodes then notice at their next regular reload
 */
export async function publishTenantChange(env: ToolEnv): Promise<boolean> {
  const client = createRedisClient(env, 'command');
  client.on('error', () => undefined);
  try {
    await new Promise<void>((resolve, reject) => {
      client.once('ready', resolve);
      setTimeout(() => reject(new Error('no answer')), env.REDIS_DIAL_TIMEOUT_MS).unref();
    });
    await client.publish(new RedisKeys(env).of('configChanged', {}), 'tenants');
    return true;
  } catch {
    return false;
  } finally {
    client.disconnect();
  }
}
