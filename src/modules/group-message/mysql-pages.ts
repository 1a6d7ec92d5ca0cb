import { Injectable } from '@nestjs/common';
import { asSeq, type Actor, type Topic } from '../../platform/ids/ids.js';
import { ChangeStore } from './change.store.js';
import { GroupMessageStore } from './group-message.store.js';
import type { HistoryQuery, TopicHead } from './group-message.types.js';
import { TextPage } from './history-page.js';
import { MAX_PAGE_BYTES } from './page-limits.js';
import type { PageRow } from './page-row.js';

/** Rows that are read at once at least. */
const MIN_READ = 64;

/** A page, and every row that was read for it, hidden and void ones included. */
export interface ReadPage {
  readonly page: TextPage;
  readonly examined: Examined;
}

/** What was read for a page; a row more than it holds tells the next reader that there is more. */
export interface Examined {
  /** Both included; nothing was looked at when `from` is above `to`. */
  readonly from: number;
  readonly to: number;
  readonly rows: readonly PageRow[];
}

/** Where a page's rows come from; void rows are included. */
export interface PageSource {
  /** Rows above `afterSeq`, ascending. */
  after(afterSeq: number, limit: number): Promise<PageRow[]>;
  /** Rows below `beforeSeq` (null: from the newest) down to above `floorSeq`, descending. */
  before(beforeSeq: number | null, floorSeq: number, limit: number): Promise<PageRow[]>;
  /** What the reader deleted for himself among these rows, by seq. */
  hidden(rows: readonly PageRow[]): Promise<ReadonlySet<number>> | ReadonlySet<number>;
}

/** Collects the messages of one page until it is full. */
class PageBuilder {
  /** Texts of the messages. */
  readonly messages: string[] = [];
  /** Everything that was read, also beyond the page. */
  readonly rows: PageRow[] = [];
  hasMore = false;
  /** Was everything there is in this direction read? */
  ended = false;
  /** The highest seq among the messages, 0 when there are none. */
  newest = 0;
  private bytes = 2;

  constructor(private readonly limit: number) {}

  get wanted(): number {
    // Long runs of holes and hidden rows must not be read one by one.
    return Math.max(this.limit - this.messages.length + 1, MIN_READ);
  }

  /** @returns false when the row does not fit any more: the page is full */
  take(row: PageRow, hidden: boolean): boolean {
    if (!row.isVoid && !hidden) {
      const { text, bytes } = row;
      if (this.messages.length === this.limit || (this.messages.length > 0 && this.bytes + bytes > MAX_PAGE_BYTES)) {
        this.hasMore = true;
        return false;
      }
      this.bytes += bytes;
      this.messages.push(text);
      this.newest = Math.max(this.newest, row.seq);
    }
    return true;
  }

  /** @returns whether the page needs another read */
  readOn(rows: readonly PageRow[], wanted: number): boolean {
    this.rows.push(...rows);
    this.ended = rows.length < wanted;
    return !this.hasMore && !this.ended;
  }
}

/** Pages straight from the table, which is the truth. */
@Injectable()
export class MysqlPages {
  constructor(
    private readonly store: GroupMessageStore,
    private readonly changes: ChangeStore,
  ) {}

  /**
   * @param head read before, so that nothing stored later is called stable
   * @param hidden all that the reader deleted for himself; null = ask for the range
   */
  read(
    actor: Actor,
    topic: Topic,
    query: HistoryQuery,
    floor: number,
    head: TopicHead,
    hidden: ReadonlySet<number> | null = null,
  ): Promise<ReadPage> {
    const { tenant } = actor;
    const source = {
      after: (afterSeq: number, limit: number) => this.store.rowsAfter(tenant, topic, afterSeq, limit),
      before: (beforeSeq: number | null, floorSeq: number, limit: number) =>
        this.store.rowsBefore(tenant, topic, beforeSeq, floorSeq, limit),
      hidden: (rows: readonly PageRow[]) => hidden ?? this.hiddenAmong(actor, topic, rows),
    };
    return readPage(source, query, floor, head);
  }

  private async hiddenAmong(actor: Actor, topic: Topic, rows: readonly PageRow[]): Promise<Set<number>> {
    if (rows.length === 0) return new Set();
    const seqs = rows.map((row) => row.seq);
    const [from, to] = [Math.min(...seqs), Math.max(...seqs)];
    return new Set(await this.changes.hidden(actor.tenant, topic, actor.uid, from, to, rows.length));
  }
}

/**
 * Reads one page.
 * @param floor nothing at or below it is shown
 * @param head read before, so that nothing stored later is called stable
 */
export function readPage(source: PageSource, query: HistoryQuery, floor: number, head: TopicHead): Promise<ReadPage> {
  return query.afterSeq === undefined
    ? backward(source, query.beforeSeq ?? null, floor, query.limit, head)
    : forward(source, Math.max(query.afterSeq, floor), query.limit, head);
}

async function forward(source: PageSource, afterSeq: number, limit: number, head: TopicHead): Promise<ReadPage> {
  const builder = new PageBuilder(limit);
  let examined = afterSeq;
  for (;;) {
    const wanted = builder.wanted;
    const rows = await source.after(examined, wanted);
    const hidden = await source.hidden(rows);
    for (const row of rows) {
      if (!builder.take(row, hidden.has(row.seq))) break;
      examined = row.seq;
    }
    if (!builder.readOn(rows, wanted)) break;
  }
  const last = builder.rows.at(-1)?.seq ?? afterSeq;
  const to = builder.ended ? Math.max(last, head.stableSeq) : last;
  return {
    page: pageOf(builder.messages, examined, head, builder.hasMore),
    examined: { from: afterSeq + 1, to, rows: builder.rows },
  };
}

async function backward(
  source: PageSource,
  beforeSeq: number | null,
  floor: number,
  limit: number,
  head: TopicHead,
): Promise<ReadPage> {
  const builder = new PageBuilder(limit);
  let before = beforeSeq;
  for (;;) {
    const wanted = builder.wanted;
    const rows = await source.before(before, floor, wanted);
    const hidden = await source.hidden(rows);
    for (const row of rows) {
      if (!builder.take(row, hidden.has(row.seq))) break;
      before = row.seq;
    }
    if (!builder.readOn(rows, wanted)) break;
  }
  const messages = builder.messages.reverse();
  const from = builder.ended ? floor + 1 : builder.rows.at(-1)!.seq;
  return {
    page: pageOf(messages, builder.newest, head, builder.hasMore),
    examined: { from, to: beforeSeq === null ? head.stableSeq : beforeSeq - 1, rows: builder.rows },
  };
}

function pageOf(messages: readonly string[], examined: number, head: TopicHead, hasMore: boolean): TextPage {
  const { stableSeq, lastSeq } = head;
  return new TextPage(`[${messages.join(',')}]`, {
    ...{ nextAfterSeq: asSeq(examined), stableSeq, lastSeq, hasMore, source: 'mysql' },
  });
}
