import type { Topic } from '../../platform/ids/ids.js';
import type { RangeCount, SeqRange, UnreadState } from './unread.store.js';

/** A count and the state that it belongs to; no number of its range was missing. */
export interface KeptUnread {
  readonly state: UnreadState;
  readonly unread: number;
  /** Of them, those that mention the user. */
  readonly mentions: number;
}

/** What has to be counted to know how many are unread: what is kept, less what was read, and what came. */
export interface UnreadPlan {
  readonly topic: Topic;
  readonly state: UnreadState;
  /** null: all of it is counted */
  readonly kept: KeptUnread | null;
  readonly less: SeqRange | null;
  readonly more: SeqRange | null;
}

/** Highest seq that does not count any more. */
export const readUpTo = ({ read, floor }: UnreadState): number => Math.max(read, floor);

/** Is everything as it was that decides which messages of a range count? New messages lie above both. */
export const isUndisturbed = (before: UnreadState, now: UnreadState): boolean =>
  before.changes === now.changes && before.hides === now.hides && before.floor === now.floor;

/** The cheapest way to the count: no more messages are looked at than came or were read since the last one. */
export function planUnread(topic: Topic, state: UnreadState, kept: KeptUnread | undefined): UnreadPlan {
  const [from, to] = [readUpTo(state), state.head];
  const everything: UnreadPlan = { topic, state, kept: null, less: null, more: { topic, from, to } };
  if (!kept || !isUndisturbed(kept.state, state)) return everything;
  const [keptFrom, keptTo] = [readUpTo(kept.state), kept.state.head];
  if (from < keptFrom || to < keptTo || from > keptTo) return everything;
  if (from - keptFrom + (to - keptTo) >= to - from) return everything;
  return {
    topic,
    state,
    kept,
    less: from > keptFrom ? { topic, from: keptFrom, to: from } : null,
    more: to > keptTo ? { topic, from: keptTo, to } : null,
  };
}

/** @returns the count, and whether it may be kept under the plan's state */
export function carryOut(
  { state, kept }: UnreadPlan,
  less: RangeCount | null,
  more: RangeCount | null,
): { readonly count: KeptUnread; readonly mayBeKept: boolean } {
  const sum = (field: 'unread' | 'mentions'): number =>
    (kept?.[field] ?? 0) - (less?.[field] ?? 0) + (more?.[field] ?? 0);
  return { count: { state, unread: sum('unread'), mentions: sum('mentions') }, mayBeKept: more?.whole !== false };
}
