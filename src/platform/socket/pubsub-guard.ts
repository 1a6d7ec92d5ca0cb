import type { RedisClient } from '../redis/redis-clients.js';

const PUBLISHING = ['publish', 'spublish'] as const;
const SUBSCRIBING = ['ssubscribe', 'sunsubscribe', 'subscribe', 'unsubscribe', 'psubscribe', 'punsubscribe'] as const;

export interface PubSubEvents {
  /** What was published is lost for the other nodes. */
  publishFailed(error: Error): void;
  /** A subscription may be missing on this node. */
  subscribeFailed(error: Error): void;
}

/**
 * The Redis adapter awaits neither publish nor subscribe; one rejection would end the process as unhandled. Every such
 * promise gets a handler here, and those of subscriptions are kept until they have taken effect.
 */
export class PubSubGuard {
  private readonly pending = new Set<Promise<unknown>>();

  constructor(
    pub: RedisClient,
    sub: RedisClient,
    private readonly events: PubSubEvents,
  ) {
    for (const method of PUBLISHING) this.wrap(pub, method, false);
    for (const method of SUBSCRIBING) this.wrap(sub, method, true);
  }

  /** Resolves when every subscription asked for until now has been answered by Redis, whether granted or refused. */
  async subscribed(): Promise<void> {
    if (this.pending.size > 0) await Promise.allSettled(this.pending);
  }

  private wrap(client: RedisClient, method: string, isSubscription: boolean): void {
    const methods = client as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
    const original = methods[method].bind(client);
    methods[method] = (...args: unknown[]): Promise<unknown> => {
      const promise = original(...args);
      if (isSubscription) this.pending.add(promise);
      promise.then(
        () => this.pending.delete(promise),
        (error: Error) => {
          this.pending.delete(promise);
          if (isSubscription) this.events.subscribeFailed(error);
          else this.events.publishFailed(error);
        },
      );
      return promise;
    };
  }
}
