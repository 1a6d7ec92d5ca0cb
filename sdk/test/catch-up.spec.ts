import { createCatchUp } from '../src/catch-up.js';
import { TridentError } from '../src/errors.js';
import { createLimiter } from '../src/limiter.js';
import { createLink } from '../src/link.js';
import { ManualClock } from './support/manual-clock.js';

const start = (pull: () => void) => {
  const clock = new ManualClock();
  const { runtime } = clock;
  const link = createLink();
  const state = { cursor: 0, newest: 0 };
  const pulledAt: number[] = [];
  const errors: string[] = [];
  const context = {
    runtime,
    link,
    request: () => Promise.reject(new Error('none')),
    emit: () => undefined,
    report: () => undefined,
  };
  const catchUp = createCatchUp(context, createLimiter(1), {
    isBehind: () => state.newest > state.cursor,
    progress: () => state.cursor,
    pull: async () => {
      pulledAt.push(runtime.now());
      pull();
    },
    onError: ({ code }) => errors.push(code),
  });
  link.turn(true);
  return { clock, link, state, pulledAt, errors, catchUp };
};

describe('when a topic is pulled', () => {
  it('waits 300 ms after a gap, then 1 s doubling to 30 s while the cursor stays behind', async () => {
    const { clock, state, pulledAt, catchUp } = start(() => undefined);
    state.newest = 5;
    catchUp.noticed();
    await clock.advance(100_000);
    expect(pulledAt).toEqual([300, 1300, 3300, 7300, 15_300, 31_300, 61_300, 91_300]);
  });

  it('does not pull when the missing ones came in time', async () => {
    const { clock, state, pulledAt, catchUp } = start(() => undefined);
    state.newest = 2;
    catchUp.noticed();
    await clock.advance(200);
    state.cursor = 2;
    catchUp.noticed();
    await clock.advance(60_000);
    expect(pulledAt).toEqual([]);
  });

  it('does not let a new gap wait for the pause of an old one', async () => {
    const { clock, state, pulledAt, catchUp } = start(() => undefined);
    state.newest = 5;
    catchUp.noticed();
    await clock.advance(40_000);
    const before = pulledAt.length;
    state.cursor = 5;
    catchUp.noticed();
    state.newest = 9;
    catchUp.noticed();
    await clock.advance(300);
    expect(pulledAt.slice(before)).toEqual([40_300]);
  });

  it('pulls at once when told, also when nothing is known to be missing', async () => {
    const { clock, pulledAt, catchUp } = start(() => undefined);
    catchUp.now();
    await clock.advance(60_000);
    expect(pulledAt).toEqual([0]);
  });

  it('repeats after a retryable error, not before the server said, and rests after another one', async () => {
    let error: TridentError | undefined = new TridentError('RATE_LIMITED', '', true, 5000);
    const { clock, pulledAt, errors, catchUp } = start(() => {
      if (error) throw error;
    });
    catchUp.now();
    await clock.advance(4999);
    error = new TridentError('NOT_MEMBER', '', false);
    await clock.advance(60_000);
    expect(pulledAt).toEqual([0, 5000]);
    expect(errors).toEqual(['NOT_MEMBER']);
    error = undefined;
    catchUp.now();
    await clock.advance(0);
    expect(pulledAt).toHaveLength(3);
  });

  it('does nothing without a session, and takes up what was asked when there is one again', async () => {
    const { clock, link, state, pulledAt, catchUp } = start(() => undefined);
    link.turn(false);
    state.newest = 3;
    catchUp.noticed();
    catchUp.now();
    await clock.advance(60_000);
    expect(pulledAt).toEqual([]);
    link.turn(true);
    await clock.advance(0);
    expect(pulledAt).toEqual([60_000]);
    catchUp.dispose();
    await clock.advance(60_000);
    expect(pulledAt).toHaveLength(1);
  });
});
