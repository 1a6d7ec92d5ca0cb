/**
 * Rules of the pipeline that a setting can leave out. The promise breaks without any of them, except for `claims` (spares
 * work: the unique key of MySQL is what keeps a message single) and `void-top` (keeps heads from going back).
 */
export type Rule =
  /** Append stores a row only in the epoch that its number was given out in. */
  | 'fence'
  /** An entry in flight past its deadline is a doubt: its writer died or hangs. */
  | 'deadline'
  /** A number that will not be used gets a void row before its entry leaves the numbers in flight. */
  | 'tombstone'
  /** A rebase ends the epoch by a higher one in MySQL, under the exclusive lock. */
  | 'new-epoch'
  /** One claim per client id: done is answered, alive is waited for, dead is taken over. */
  | 'claims'
  /** `entries` that differ from the size of `inflight` are a doubt: one of the keys was lost alone. */
  | 'entries'
  /** A counter that was counted on another Redis server is a doubt. */
  | 'run-id'
  /** Reading notices doubts, too, and starts the rebase: a quiet topic heals without a new send. */
  | 'read-rebase'
  /** A rebase leaves a void row at the highest number that Redis had given out. */
  | 'void-top';

/** Rules that look right and are not; each takes the place of the right one. */
export type Mistake =
  /** A rebase has nothing to do once MySQL's epoch is not the doubted one, whatever Redis counts in. */
  | 'plain-cas'
  /** After a lost counter the second rebase goes on in the epoch that the first one began. */
  | 'cas-on-missing'
  /** A look-up by client id decides an unknown outcome; what is not found is taken for not stored. */
  | 'lookup-decides'
  /** The raised counter goes on where the doubted one stood. */
  | 'keep-counter';

export type Accident =
  /** Redis loses everything, or goes back to an older state. */
  | 'redis-loss'
  /** `inflight` is lost alone: evicted, or deleted by hand. */
  | 'key-loss'
  /** The client's side of a connection is cut while the server may still commit. */
  | 'unknown-outcome';

export interface Settings {
  readonly rules: ReadonlySet<Rule>;
  readonly mistakes: ReadonlySet<Mistake>;
  readonly accidents: ReadonlySet<Accident>;
  /** After the faults nobody sends any more; readers alone must come to the end. */
  readonly quietEnd: boolean;
}

const CORE_RULES: readonly Rule[] = ['fence', 'deadline', 'tombstone', 'new-epoch'];

/** Numbering alone: one counter, a fence, tombstones, deadlines. */
export const CORE: Settings = {
  rules: new Set(CORE_RULES),
  mistakes: new Set(),
  accidents: new Set<Accident>(['redis-loss']),
  quietEnd: false,
};

/** All of it: claims with owners, inserts of unknown outcome, keys lost alone, reads that start a rebase, quiet topics. */
export const EXTENDED: Settings = {
  rules: new Set<Rule>([...CORE_RULES, 'claims', 'entries', 'run-id', 'read-rebase', 'void-top']),
  mistakes: new Set(),
  accidents: new Set<Accident>(['redis-loss', 'key-loss', 'unknown-outcome']),
  quietEnd: true,
};

export function without(settings: Settings, rule: Rule): Settings {
  return { ...settings, rules: new Set([...settings.rules].filter((kept) => kept !== rule)) };
}

export function mistaken(settings: Settings, mistake: Mistake): Settings {
  return { ...settings, mistakes: new Set([mistake]) };
}
