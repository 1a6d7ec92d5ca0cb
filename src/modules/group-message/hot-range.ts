import { readMember, type HotEntry } from './hot-member.js';
import { MAX_PAGE_BYTES } from './page-limits.js';

/** What a page is made of, in the order of the wire. */
export interface HotRange {
  /** Messages, ascending by seq. */
  readonly entries: readonly HotEntry[];
  /** The last seq examined. */
  readonly examined: number;
  readonly hasMore: boolean;
}

/** Members of the set that come next; `limit` at most, in the direction of reading. */
export type ReadMembers = (bound: number | null, limit: number) => Promise<readonly Buffer[]>;

export interface RangeQuery {
  readonly topic: string;
  readonly direction: 'after' | 'before';
  /** Exclusive; null = newest. */
  readonly bound: number | null;
  readonly limit: number;
  /** Nothing at or below it may be read. */
  readonly floor: number;
  readonly stableSeq: number;
}

/** So many members are read at once when the first did not fill the page: long runs of holes. */
const MIN_READ = 64;

/**
 * Reads a page out of members of the hot set. It is complete, or there is none: every seq between its ends up to
 * `stableSeq` must be there, as a message or as a known hole; above it a missing one may still be in flight.
 * @param first what was read already from the bound on, `limit + 1` members asked for
 * @returns null when something is missing
 */
export async function readRange(
  query: RangeQuery,
  first: readonly Buffer[],
  read: ReadMembers,
): Promise<HotRange | null> {
  const page = query.direction === 'after' ? new ForwardPage(query) : new BackwardPage(query);
  let [members, wanted] = [first, query.limit + 1];
  for (;;) {
    for (const member of members) {
      const entry = readMember(member, query.topic);
      if (!entry) return null;
      const step = page.take(entry);
      if (step === 'gap') return null;
      if (step === 'full') return page.range(true);
      if (step === 'end') return page.range(false);
    }
    if (members.length < wanted) return page.isComplete ? page.range(false) : null;
    wanted = Math.max(page.missing + 1, MIN_READ);
    members = await read(page.reached, wanted);
  }
}

type Step = 'taken' | 'gap' | 'full' | 'end';

abstract class Page {
  protected readonly entries: HotEntry[] = [];
  private bytes = 2;

  constructor(protected readonly query: RangeQuery) {}

  /** Where the next read goes on. */
  abstract reached: number | null;
  /** Was everything up to the end looked at? */
  abstract readonly isComplete: boolean;

  get missing(): number {
    return this.query.limit - this.entries.length;
  }

  abstract take(entry: HotEntry): Step;
  abstract range(hasMore: boolean): HotRange;

  /** @returns false when the page is full */
  protected add(entry: HotEntry): boolean {
    if (entry.from === 0) return true;
    const bytes = entry.member.length - entry.from + 1;
    if (this.missing === 0 || (this.entries.length > 0 && this.bytes + bytes > MAX_PAGE_BYTES)) return false;
    this.bytes += bytes;
    this.entries.push(entry);
    return true;
  }
}

class ForwardPage extends Page {
  reached: number;

  constructor(query: RangeQuery) {
    super(query);
    this.reached = Math.max(query.bound!, query.floor);
  }

  get isComplete(): boolean {
    return this.reached >= this.query.stableSeq;
  }

  take(entry: HotEntry): Step {
    if (entry.seq !== this.reached + 1 && !this.isComplete) return 'gap';
    if (!this.add(entry)) return 'full';
    this.reached = entry.seq;
    return 'taken';
  }

  range(hasMore: boolean): HotRange {
    return { entries: this.entries, examined: this.reached, hasMore };
  }
}

class BackwardPage extends Page {
  reached: number | null;
  /** The seq that must come next. */
  private next: number;

  constructor(query: RangeQuery) {
    super(query);
    this.reached = query.bound;
    this.next = Math.min(query.bound === null ? query.stableSeq : query.bound - 1, query.stableSeq);
  }

  get isComplete(): boolean {
    return this.next <= this.query.floor;
  }

  take(entry: HotEntry): Step {
    if (entry.seq <= this.query.floor) return this.isComplete ? 'end' : 'gap';
    if (entry.seq < this.next) return 'gap';
    if (!this.add(entry)) return 'full';
    this.reached = entry.seq;
    this.next = Math.min(this.next, entry.seq - 1);
    return 'taken';
  }

  range(hasMore: boolean): HotRange {
    const entries = this.entries.toReversed();
    return { entries, examined: entries.at(-1)?.seq ?? 0, hasMore };
  }
}

const [OPEN, CLOSE, COMMA] = [91, 93, 44];

/** The JSON array of a page's messages; their bytes are copied, not read. */
export function arrayText(entries: readonly HotEntry[]): string {
  if (entries.length === 0) return '[]';
  const total = entries.reduce((sum, { member, from }) => sum + member.length - from + 1, 1);
  const text = Buffer.allocUnsafe(total);
  let at = 0;
  for (const { member, from } of entries) {
    text[at] = at === 0 ? OPEN : COMMA;
    at += 1 + member.copy(text, at + 1, from);
  }
  text[at] = CLOSE;
  return text.toString('utf8');
}
