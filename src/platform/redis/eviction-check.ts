import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { ENV, type Env } from '../env/env.js';
import { Logger } from '../observe/logger.js';
import { Readiness } from '../observe/readiness.js';
import { RedisClients } from './redis-clients.js';

/**
 * Counters have no time to live: a Redis that evicts any key may drop them under memory pressure. Such a Redis is refused
 * (the node does not become ready) unless REDIS_ALLOW_EVICTION says otherwise.
 */
@Injectable()
export class EvictionCheck implements OnApplicationBootstrap {
  private evicts = false;

  constructor(
    private readonly clients: RedisClients,
    @Inject(ENV) private readonly env: Env,
    private readonly log: Logger,
    private readonly readiness: Readiness,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    this.readiness.require('evictionPolicy', () => !this.evicts);
    this.clients.command.on('ready', () => void this.check());
    await this.check();
  }

  private async check(): Promise<void> {
    // Managed services may not show their configuration; then it is the operator's word that counts.
    const info = await this.clients.command.info('memory').catch(() => '');
    const policy = /maxmemory_policy:(\S+)/.exec(info)?.[1] ?? '';
    this.evicts = policy.startsWith('allkeys') && !this.env.REDIS_ALLOW_EVICTION;
    if (this.evicts) {
      const message = 'Redis may evict counters: set maxmemory-policy to noeviction, or REDIS_ALLOW_EVICTION=true';
      this.log.error({ policy }, message);
    }
  }
}
