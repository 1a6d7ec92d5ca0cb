import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Logger } from '../../platform/observe/logger.js';
import { NodeLease } from './node-lease.js';
import { PresenceRedis } from './presence.redis.js';

const LOOK_EVERY_MS = 2_000;
/** Every node that lives has registered what it holds by then: a lease, a retry, and the writing of many sessions. */
const READY_AFTER_MS = 30_000;

/**
 * An empty Redis is not a world of offline users: presence is unknown until the nodes have had time to register anew. The
 * node that saw it empty first says when that is over.
 */
@Injectable()
export class PresenceReady implements OnModuleInit, OnApplicationShutdown {
  private timer?: NodeJS.Timeout;
  /** Since when this node has been registered in a Redis that is not ready; monotonic. */
  private sinceMs: number | null = null;

  constructor(
    private readonly redis: PresenceRedis,
    private readonly lease: NodeLease,
    private readonly log: Logger,
  ) {}

  onModuleInit(): void {
    this.timer = setInterval(() => void this.look(), LOOK_EVERY_MS).unref();
    // It may have been emptied once more.
    this.lease.onLost(() => (this.sinceMs = null));
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
  }

  private async look(): Promise<void> {
    try {
      if (!this.lease.stands) return;
      const now = performance.now();
      if (await this.redis.isReady()) this.sinceMs = null;
      else if (this.sinceMs === null) this.sinceMs = now;
      else if (now - this.sinceMs >= READY_AFTER_MS) {
        await this.redis.setReady();
        this.sinceMs = null;
        this.log.info({}, 'presence is ready: the nodes have had time to register');
      }
    } catch {
      // Redis is away, which others report.
    }
  }
}
