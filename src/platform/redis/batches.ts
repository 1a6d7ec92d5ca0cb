/** Something that waits for the next call of its key. */
interface Waiting<I, R> {
  readonly item: I;
  readonly resolve: (reply: R) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Calls of one key, one at a time: what comes while one is under way leaves together with the next. No timer, so an idle
 * key pays no delay. When a call fails, all that wait for the same key fail with it: they must not wait for one time-out
 * after the other.
 */
export class Batches<I, R> {
  private readonly queues = new Map<string, Waiting<I, R>[]>();

  constructor(
    private readonly most: number,
    /** One reply per item, in order. */
    private readonly call: (items: readonly I[]) => Promise<readonly R[]>,
  ) {}

  push(key: string, item: I): Promise<R> {
    return new Promise((resolve, reject) => {
      const waiting = { item, resolve, reject };
      const queue = this.queues.get(key);
      if (queue) {
        queue.push(waiting);
        return;
      }
      this.queues.set(key, [waiting]);
      // What else is asked for in this turn of the event loop joins the first call.
      process.nextTick(() => void this.drain(key));
    });
  }

  private async drain(key: string): Promise<void> {
    const queue = this.queues.get(key)!;
    while (queue.length > 0) {
      const batch = queue.splice(0, this.most);
      try {
        const replies = await this.call(batch.map((waiting) => waiting.item));
        batch.forEach((waiting, index) => waiting.resolve(replies[index]));
      } catch (error) {
        for (const waiting of [...batch, ...queue.splice(0)]) waiting.reject(error);
      }
    }
    this.queues.delete(key);
  }
}
