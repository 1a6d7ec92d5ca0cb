import * as fc from 'fast-check';
import { carryOut, planUnread, readUpTo, type KeptUnread } from '../../../src/modules/conversation/unread-plan.js';
import type { RangeCount, SeqRange, UnreadState } from '../../../src/modules/conversation/unread.store.js';
import type { Topic } from '../../../src/platform/ids/ids.js';

const TOPIC = 'grp_1' as Topic;

/** One message, or a number that is not stored yet. */
type Slot = 'plain' | 'mention' | 'own' | null;

class Log {
  readonly slots: Slot[] = [];
  looked = 0;

  count(range: SeqRange | null): RangeCount | null {
    if (range === null) return null;
    const slots = this.slots.slice(range.from, range.to);
    this.looked += slots.length;
    const mentions = slots.filter((slot) => slot === 'mention').length;
    const unread = slots.filter((slot) => slot === 'plain').length + mentions;
    return { unread, mentions, whole: slots.every((slot) => slot !== null) };
  }

  get head(): number {
    return this.slots.findLastIndex((slot) => slot !== null) + 1;
  }
}

const slot = fc.constantFrom<Slot>('plain', 'plain', 'mention', 'own', null);
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('send' as const), slots: fc.array(slot, { maxLength: 6 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('read' as const), by: fc.nat({ max: 8 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('late' as const), slot }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('recall' as const), at: fc.nat({ max: 40 }) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('ask' as const) }) },
);

it('what is kept, less what was read and with what came, is what a recount gives, also with numbers that come late', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 5, maxLength: 60 }), (steps) => {
      const log = new Log();
      let [read, changes] = [0, 0];
      let kept: KeptUnread | undefined;
      for (const one of steps) {
        if (one.kind === 'send') log.slots.push(...one.slots);
        if (one.kind === 'read') read = Math.min(read + one.by, log.head);
        if (one.kind === 'late') {
          const gap = log.slots.indexOf(null);
          if (gap >= 0) log.slots[gap] = one.slot;
        }
        if (one.kind === 'recall' && one.at < log.slots.length && log.slots[one.at] !== null) {
          log.slots[one.at] = 'own';
          changes += 1;
        }
        const state: UnreadState = { head: log.head, read, changes, hides: 0, floor: 0 };
        if (one.kind !== 'ask' || state.head <= readUpTo(state)) continue;
        const plan = planUnread(TOPIC, state, kept);
        const { count, mayBeKept } = carryOut(plan, log.count(plan.less), log.count(plan.more));
        const { unread, mentions } = log.count({ topic: TOPIC, from: read, to: log.head })!;
        expect([count.unread, count.mentions]).toEqual([unread, mentions]);
        if (mayBeKept) kept = count;
      }
    }),
    { numRuns: 300 },
  );
});

it('no more messages are looked at than came or were read', () => {
  const log = new Log();
  log.slots.push(...Array.from({ length: 100_000 }, (): Slot => 'plain'));
  let kept: KeptUnread | undefined;
  const ask = (read: number): number => {
    log.looked = 0;
    const plan = planUnread(TOPIC, { head: log.head, read, changes: 0, hides: 0, floor: 0 }, kept);
    kept = carryOut(plan, log.count(plan.less), log.count(plan.more)).count;
    expect(kept.unread).toBe(log.head - read);
    return log.looked;
  };
  expect(ask(0)).toBe(100_000);
  expect(ask(0)).toBe(0);
  log.slots.push('plain', 'plain');
  expect(ask(10)).toBe(12);
  // Nearly all of it was read: what is left is less than what was read.
  expect(ask(99_999)).toBe(3);
});
