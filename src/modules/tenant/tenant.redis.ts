import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { ENV, type Env } from '../../platform/env/env.js';
import { RedisKeys } from '../../platform/redis/keys.js';
import { createRedisClient, type RedisClient } from '../../platform/redis/redis-clients.js';
import { RedisScripts } from '../../platform/redis/redis-scripts.js';

/** The channel on which "the control database has changed" is told to all nodes. */
@Injectable()
export class TenantChanges implements OnApplicationShutdown {
  private sub?: RedisClient;

  constructor(
    @Inject(ENV) private readonly env: Env,
    private readonly keys: RedisKeys,
    private readonly scripts: RedisScripts,
  ) {}

  /** Calls `reload` at every message, and when the connection is there (again): messages may have been missed. */
  listen(reload: () => void): void {
    const channel = this.keys.of('configChanged', {});
    const sub = createRedisClient(this.env, 'sub');
    this.sub = sub;
    sub.on('error', () => undefined);
    sub.on('message', reload);
    sub.on('ready', reload);
    sub.subscribe(channel).catch(() => undefined);
  }

  /** @throws RedisUnavailable; the nodes then notice at their next regular reload. */
  async publish(): Promise<void> {
    const channel = this.keys.of('configChanged', {});
    await this.scripts.command('publish', (client) => client.publish(channel, 'tenants'));
  }

  onApplicationShutdown(): void {
    this.sub?.disconnect();
  }
}
