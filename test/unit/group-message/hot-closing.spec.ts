import type { ChangeStore } from '../../../src/modules/group-message/change.store.js';
import type { FanoutService } from '../../../src/modules/group-message/fanout.service.js';
import { HotClosing } from '../../../src/modules/group-message/hot-closing.js';
import type { HotRedis } from '../../../src/modules/group-message/hot.redis.js';
import { asSeq, asTenantId, asTopic } from '../../../src/platform/ids/ids.js';
import type { Logger } from '../../../src/platform/observe/logger.js';

const change = { tenant: asTenantId('1'), topic: asTopic('grp_7'), seq: asSeq(3), token: 'token' };

/** The row cannot be read, nor a close be taken, as often as the test says. */
function stage(failing: { reads: number; closes: number }) {
  const done: string[] = [];
  const store = {
    transaction: async () => {
      failing.reads -= 1;
      if (failing.reads >= 0) throw new Error('MySQL is away');
      return null;
    },
  } as unknown as ChangeStore;
  const hot = {
    close: async () => {
      failing.closes -= 1;
      if (failing.closes >= 0) throw new Error('Redis is away');
      done.push('closed');
    },
  } as unknown as HotRedis;
  const fanout = { resync: (_: string, topic: string) => done.push(`resync ${topic}`) } as unknown as FanoutService;
  const log = { warn: () => undefined } as unknown as Logger;
  return { done, closing: new HotClosing(store, hot, fanout, log) };
}

describe('changes that were not closed', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('one whose outcome was open has the members ask, once it is known', async () => {
    const { done, closing } = stage({ reads: 2, closes: 1 });
    closing.follow(change);
    await jest.advanceTimersByTimeAsync(1_600);
    expect(done).toEqual([]);
    await jest.advanceTimersByTimeAsync(5_000);
    expect(done).toEqual(['closed', 'resync grp_7']);
  });

  it('one that was told has nobody ask', async () => {
    const { done, closing } = stage({ reads: 0, closes: 1 });
    expect(await closing.close(change, null)).toBe(false);
    await jest.advanceTimersByTimeAsync(5_000);
    expect(done).toEqual(['closed']);
  });
});
