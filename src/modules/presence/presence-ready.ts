import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Logger } from '../../platform/observe/logger.js';
import { NodeLease } from './node-lease.js';
import { PresenceRedis } from './presence.redis.js';

const LOOK_EVERY_MS = 2_000;
/** Every node that lives has registered what it holds by then: a lease, a retry, and the writing of many sessions. */
const READY_AFTER_MS = 30_000;

/**
 * An empty Redis is not a world of offline users: presence is unknown until the nodes have had time to register anew. Since
 * when they have is kept in that Redis itself: emptied once more, it begins again.
 */
@Injectable()
export class PresenceReady implements OnModuleInit, OnApplicationShutdown {
  private timer?: NodeJS.Timeout;

  constructor(
    private readonly redis: PresenceRedis,
    private readonly lease: NodeLease,
    private readonly log: Logger,
  ) {}

  onModuleInit(): void {
    this.timer = setInterval(() => void this.look(), LOOK_EVERY_MS).unref();
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
  }

  private async look(): Promise<void> {
    try {
      if (!this.lease.stands || !(await this.redis.becomeReady(READY_AFTER_MS))) return;
      this.log.info({}, 'presence is ready: the nodes have had time to register');
    } catch {
      // Redis is away, which others report.
    }
  }
}
