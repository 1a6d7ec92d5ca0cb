import { AppError } from '../../platform/errors/app-error.js';

/** Changes of one group that may wait in one node. */
const MAX_WAITING = 256;

/**
 * Runs the changes of one group of this node one after the other. They would wait for the group's row lock anyway, but
 * each with a connection in its hands that other groups and all readers need, and some for longer than a lock wait lasts.
 */
export class GroupQueue {
  private readonly tails = new Map<string, { last: Promise<unknown>; length: number }>();

  /** @throws AppError OVERLOADED when too many are waiting */
  async run<T>(group: string, work: () => Promise<T>): Promise<T> {
    const tail = this.tails.get(group) ?? { last: Promise.resolve(), length: 0 };
    if (tail.length >= MAX_WAITING) throw new AppError('OVERLOADED', { retryAfterMs: 1000 });
    this.tails.set(group, tail);
    tail.length += 1;
    const mine = tail.last.then(work);
    tail.last = mine.catch(() => undefined);
    try {
      return await mine;
    } finally {
      tail.length -= 1;
      if (tail.length === 0) this.tails.delete(group);
    }
  }
}
