import { createChangeLog, patched } from './change-log.js';
import { createQuotes } from './quotes.js';
import type { ChangesPage, HistoryPage, Message, MessageChange, MessagesFrame, Quote, TopicHead } from './wire.js';

/** Numbers above the cursor that are remembered; what does not fit is left to the next pull. */
const MAX_HELD = 10_000;
const MAX_HIDDEN = 2000;
/** the window is cut when it is this much too large, not at every message */
const TRIM_SLACK = 1.2;

export interface AppliedChange {
  change: MessageChange;
  /** the message as it is now; undefined when it is not in the window */
  message?: Message;
}

/** What one input did to a topic. */
export interface Outcome {
  /** messages that were not known before; a gap below them may still be open */
  shown: Message[];
  /** messages that the cursor passed: every message once, strictly ascending */
  passed: Message[];
  changed: AppliedChange[];
  hidden: number[];
}

export interface StartingPoint {
  cursor: number | null;
  changeCursor?: number | null;
}

const emptyOutcome = (): Outcome => ({ shown: [], passed: [], changed: [], hidden: [] });
const bySeq = (a: Message, b: Message): number => a.seq - b.seq;

/**
 * The client rule of one topic, without I/O, clocks or timers. `cursor`: every message at or below it is known.
 * Numbers above it are known when they are in `held` (messages) or `voids`. The order is the order of seq, always.
 */
export class TopicState {
  cursor: number | null = null;
  head: TopicHead | undefined;
  readonly changes = createChangeLog();
  readonly quotes = createQuotes();
  /** where paging backwards goes on; undefined until something was loaded */
  olderBefore: number | undefined;
  hasOlder = true;

  #window = new Map<number, Message>();
  readonly #held = new Set<number>();
  readonly #voids = new Set<number>();
  /** own sends known by their ack only; the server's copy replaces them */
  readonly #provisional = new Set<number>();
  readonly #hiddenSeqs = new Set<number>();
  /** the newest seq known to exist */
  #newest = 0;
  /** numbers up to it are no longer remembered one by one */
  #sweptTo = 0;
  /** the lowest seq heard before this device had a cursor */
  #firstLive = Infinity;

  constructor(
    readonly topic: string,
    /** newest messages to keep */
    public windowLimit: number,
    start?: StartingPoint,
  ) {
    if (start) this.restore(start);
  }

  /** Takes a stored starting point, unless this topic has already started. */
  restore({ cursor, changeCursor }: StartingPoint): void {
    if (this.cursor !== null || cursor === null) return;
    this.cursor = cursor;
    this.olderBefore ??= cursor + 1;
    this.changes.begin(changeCursor);
  }

  /** True while the cursor is below the newest known seq: a pull from the cursor is due. */
  get behind(): boolean {
    return this.cursor !== null && this.#newest > this.cursor;
  }

  /** The window: ascending by seq, the newest `windowLimit` ones. */
  messages(): Message[] {
    return [...this.#window.values()].sort(bySeq).slice(-this.windowLimit);
  }

  get(seq: number): Message | undefined {
    return this.#window.get(seq);
  }

  /** True while the message is known from the ack of its send alone. */
  isProvisional(seq: number): boolean {
    return this.#provisional.has(seq);
  }

  applyHead(head: TopicHead): void {
    this.head = head;
    this.changes.begin(head.lastChange);
  }

  /** A realtime frame. Its `stableSeq` says nothing about this client, so it moves nothing. */
  applyFrame({ messages, voids, quotes }: Pick<MessagesFrame, 'messages' | 'voids' | 'quotes'>): Outcome {
    const out = emptyOutcome();
    this.#noteQuotes(quotes);
    for (const message of messages) this.#take(message, out);
    for (const seq of voids) this.#hold(this.#voids, seq);
    return this.#settled(out);
  }

  /** An own message as its ack told: known from now on, and any copy of the server is better. */
  applyOwnSend(message: Message): Outcome {
    const { seq } = message;
    if (this.#isKnown(seq)) return emptyOutcome();
    this.#provisional.add(seq);
    return this.applyFrame({ messages: [message], voids: [] });
  }

  /** Somebody said that this seq is stored. */
  noteStored(seq: number): Outcome {
    this.#newest = Math.max(this.#newest, seq);
    return emptyOutcome();
  }

  /** A page that was asked with `afterSeq`; undefined: the newest page. */
  applyPage(afterSeq: number | undefined, page: HistoryPage): Outcome {
    const out = emptyOutcome();
    this.#noteQuotes(page.quotes);
    const { cursor } = this;
    if (cursor !== null) {
      const { messages, hasMore, nextAfterSeq, stableSeq } = page;
      const moves = afterSeq !== undefined && afterSeq <= cursor;
      const target = moves ? Math.max(cursor, hasMore ? Math.min(nextAfterSeq, stableSeq) : stableSeq) : cursor;
      for (const message of messages) this.#take(message, out, target);
      this.#moveTo(cursor, target, messages, out);
    } else if (afterSeq === undefined) this.#begin(page, out);
    return this.#settled(out);
  }

  /** A page that was asked with `beforeSeq` (or the newest one for looking at); it never moves the cursor. */
  applyOlder(page: HistoryPage): { outcome: Outcome; messages: Message[] } {
    const out = emptyOutcome();
    this.#noteQuotes(page.quotes);
    const rows = page.messages.filter(({ seq }) => !this.#hiddenSeqs.has(seq));
    for (const message of rows) {
      if (this.cursor !== null && message.seq > this.cursor) this.#take(message, out);
      else this.#insertQuietly(message, out);
    }
    const messages = rows.map((message) => this.get(message.seq) ?? message);
    this.#noteOldest(page);
    return { outcome: this.#settled(out), messages };
  }

  applyChange(change: MessageChange): Outcome {
    const out = emptyOutcome();
    this.#change(change, out);
    this.changes.noteNumber(change.change);
    return out;
  }

  applyChangesPage(afterChange: number, page: ChangesPage): Outcome {
    const out = emptyOutcome();
    for (const change of page.changes) this.#change(change, out);
    this.changes.notePage(afterChange, page);
    return out;
  }

  /** Deleted for oneself: gone here, and not shown when it arrives later. */
  applyHidden(seqs: number[]): Outcome {
    for (const seq of seqs) {
      this.#hiddenSeqs.add(seq);
      this.quotes.forget(seq);
      if (this.#window.delete(seq)) this.#hold(this.#voids, seq);
    }
    for (const seq of this.#hiddenSeqs) {
      if (this.#hiddenSeqs.size <= MAX_HIDDEN) break;
      this.#hiddenSeqs.delete(seq);
    }
    return this.#settled({ ...emptyOutcome(), hidden: seqs });
  }

  /** What was heard of a quoted message meanwhile counts for its quote, too. */
  #noteQuotes(quotes: Quote[] = []): void {
    for (const quote of quotes) {
      this.quotes.note(quote);
      const newer = this.get(quote.seq) ?? this.changes.waitingFor(quote.seq);
      if (newer) this.quotes.patch(newer);
    }
  }

  #isKnown(seq: number): boolean {
    return (this.cursor !== null && seq <= this.cursor) || this.#held.has(seq) || this.#voids.has(seq);
  }

  /** Remembers a number above the cursor; false when there is no room left. */
  #hold(set: Set<number>, seq: number): boolean {
    this.#newest = Math.max(this.#newest, seq);
    return set.size < MAX_HELD && !!set.add(seq);
  }

  /** `passing`: the cursor is about to pass everything up to it, so that is shown now or never. */
  #take(message: Message, out: Outcome, passing = 0): void {
    const { seq } = message;
    if (this.#hiddenSeqs.has(seq)) return void this.#hold(this.#voids, seq);
    if (this.#update(message, out) || this.#isKnown(seq)) return;
    if (!this.#hold(this.#held, seq) && seq > passing) return;
    if (this.cursor === null) this.#firstLive = Math.min(this.#firstLive, seq);
    out.shown.push(this.#insert(message));
  }

  #insert(message: Message): Message {
    const merged = this.changes.merged(message);
    this.changes.arrived(message.seq);
    if (merged !== message) this.#provisional.delete(message.seq);
    this.#window.set(message.seq, merged);
    return merged;
  }

  /** Replaces the copy in the window by a newer one; false when there is none. */
  #update(message: Message, out: Outcome): boolean {
    const { topic, seq, version, status, content, updatedAt } = message;
    const old = this.get(seq);
    if (!old) return false;
    const first = this.#provisional.delete(seq);
    if (!first && version <= old.version) return true;
    this.#window.set(seq, message);
    // the first copy of the server is no change, unless it was changed since it was sent
    const change = { topic, seq, version, status, content, updatedAt };
    if (!first || updatedAt > message.createdAt) out.changed.push({ change, message });
    return true;
  }

  #insertQuietly(message: Message, out: Outcome): void {
    const { seq } = message;
    if (this.#hiddenSeqs.has(seq) || this.#update(message, out)) return;
    if (this.cursor === null) this.#hold(this.#held, seq);
    this.#insert(message);
  }

  /** A new device: it starts at the newest page's `stableSeq`; what came after it began to listen is new to it. */
  #begin(page: HistoryPage, out: Outcome): void {
    const { messages, hasMore, stableSeq } = page;
    const oldest = messages[0]?.seq ?? Infinity;
    // a server in doubt answers too low a number: starting there would load the whole topic, so it is asked again
    const inDoubt = hasMore && stableSeq < oldest - 1;
    const old = inDoubt ? Infinity : Math.min(this.head?.lastSeq ?? stableSeq, this.#firstLive - 1, stableSeq);
    for (const message of messages) {
      if (message.seq <= old) this.#insertQuietly(message, out);
      else this.#take(message, out, stableSeq);
    }
    if (inDoubt) return;
    this.#moveTo(old, stableSeq, messages, out);
    this.#noteOldest(page);
  }

  #noteOldest({ messages, hasMore }: HistoryPage): void {
    const oldest = messages[0]?.seq;
    this.hasOlder = hasMore && oldest !== undefined;
    if (oldest !== undefined) this.olderBefore = Math.min(this.olderBefore ?? oldest, oldest);
  }

  /** The cursor passes a range that is complete: `rows` and the window hold all of its messages. */
  #moveTo(from: number, target: number, rows: Message[], out: Outcome): void {
    const passed = new Map<number, Message>();
    for (const row of [...rows.map(this.changes.merged), ...this.#window.values()]) {
      if (row.seq > from && row.seq <= target && !this.#hiddenSeqs.has(row.seq)) passed.set(row.seq, row);
    }
    out.passed.push(...[...passed.values()].sort(bySeq));
    this.cursor = target;
  }

  /** Goes on over what is held right above the cursor, then forgets what is not needed any more. */
  #settled(out: Outcome): Outcome {
    while (this.cursor !== null) {
      const message = this.get(this.cursor + 1);
      if (message) out.passed.push(message);
      else if (!this.#voids.has(this.cursor + 1)) break;
      this.cursor += 1;
    }
    if (this.cursor !== null && this.cursor !== this.#sweptTo) {
      this.#sweptTo = this.cursor;
      for (const set of [this.#held, this.#voids]) {
        for (const seq of set) if (seq <= this.cursor) set.delete(seq);
      }
    }
    if (this.#window.size > this.windowLimit * TRIM_SLACK) this.#trim();
    return out;
  }

  #trim(): void {
    this.#window = new Map(this.messages().map((message) => [message.seq, message]));
    for (const seq of this.#provisional) if (!this.#window.has(seq)) this.#provisional.delete(seq);
  }

  #change(change: MessageChange, out: Outcome): void {
    const { seq, version } = change;
    this.quotes.patch(change);
    const old = this.get(seq);
    if (old) {
      if (!this.#provisional.delete(seq) && version <= old.version) return;
      const message = patched(old, change);
      this.#window.set(seq, message);
      out.changed.push({ change, message });
    } else if (this.changes.keep(change) && this.#isKnown(seq)) out.changed.push({ change });
  }
}
