import type { RedisClient } from '../redis/redis-clients.js';

const PUBLISHING = ['publish', 'spublish'] as const;
const SUBSCRIBING = ['ssubscribe', 'subscribe', 'psubscribe'] as const;
const UNSUBSCRIBING = ['sunsubscribe', 'unsubscribe', 'punsubscribe'] as const;
const RETRY_MS = 250;

type Call = (...args: unknown[]) => Promise<unknown>;

export interface PubSubEvents {
  /** What was published is lost for the other nodes. */
  publishFailed(error: Error): void;
  /** A subscription was missing on this node for a while; it is being asked for again. */
  subscribeFailed(error: Error): void;
}

/**
 * The Redis adapter awaits neither publish nor subscribe; one rejection would end the process as unhandled, and a refused
 * subscription would leave a room deaf. Every such promise gets a handler here; subscriptions are asked for until they are
 * granted or no longer wanted, and can be waited for.
 */
export class PubSubGuard {
  private readonly pending = new Set<Promise<unknown>>();
  private readonly wanted = new Set<string>();

  constructor(
    pub: RedisClient,
    sub: RedisClient,
    private readonly events: PubSubEvents,
  ) {
    for (const method of PUBLISHING) this.wrap(pub, method, (call) => this.publish(call));
    for (const method of SUBSCRIBING) this.wrap(sub, method, (call, channels) => this.subscribe(call, channels));
    for (const method of UNSUBSCRIBING) this.wrap(sub, method, (call, channels) => this.unsubscribe(call, channels));
  }

  /**
   * Waits until every subscription asked for until now has been answered by Redis.
   * @returns whether all were, and all were granted, within `timeoutMs`
   */
  async subscribed(timeoutMs: number): Promise<boolean> {
    if (this.pending.size === 0) return true;
    const all = Promise.all(this.pending).then(
      () => true,
      () => false,
    );
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => (timer = setTimeout(resolve, timeoutMs, false)));
    return Promise.race([all, late]).finally(() => clearTimeout(timer));
  }

  private publish(call: () => Promise<unknown>): Promise<unknown> {
    const promise = call();
    promise.catch((error: Error) => this.events.publishFailed(error));
    return promise;
  }

  private subscribe(call: () => Promise<unknown>, channels: readonly string[]): Promise<unknown> {
    for (const channel of channels) this.wanted.add(channel);
    const first = call();
    const granted = this.untilGranted(first, call, channels);
    this.pending.add(granted);
    void granted.finally(() => this.pending.delete(granted));
    return first;
  }

  /** Asks again until it is granted or no longer wanted. What was missed meanwhile is told when it hears again, too. */
  private async untilGranted(
    first: Promise<unknown>,
    call: () => Promise<unknown>,
    channels: readonly string[],
  ): Promise<void> {
    let failure: Error | null = null;
    for (let attempt = first; ; attempt = call()) {
      try {
        await attempt;
        if (failure) this.events.subscribeFailed(failure);
        return;
      } catch (error) {
        failure = error as Error;
        this.events.subscribeFailed(failure);
      }
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS).unref());
      if (!channels.some((channel) => this.wanted.has(channel))) return;
    }
  }

  private unsubscribe(call: () => Promise<unknown>, channels: readonly string[]): Promise<unknown> {
    for (const channel of channels) this.wanted.delete(channel);
    const promise = call();
    // A subscription that could not be ended costs some traffic; the adapter drops what it has no room for.
    promise.catch(() => undefined);
    return promise;
  }

  private wrap(
    client: RedisClient,
    method: string,
    guarded: (call: () => Promise<unknown>, channels: readonly string[]) => Promise<unknown>,
  ): void {
    const methods = client as unknown as Record<string, Call>;
    const original = methods[method].bind(client);
    methods[method] = (...args) => guarded(() => original(...args), args.flat().map(String));
  }
}
