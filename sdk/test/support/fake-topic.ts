import type { ChangesPage, HistoryPage, Message, MessageChange, MessageStatus } from '../../src/wire.js';

interface PageQuery {
  afterSeq?: number;
  beforeSeq?: number;
  limit: number;
  /** what the server knew to be stable before it read the rows; by default what is true now */
  stableSeq?: number;
}

/** The truth about one topic, as MySQL and Redis together would hold it: numbers in flight, rows, voids, changes. */
export class FakeTopic {
  lastSeq = 0;
  readonly inFlight = new Set<number>();
  readonly rows = new Map<number, Message>();
  readonly voids = new Set<number>();
  readonly hidden = new Set<number>();
  readonly changes: (MessageChange & { change: number })[] = [];

  constructor(readonly topic: string) {}

  get stableSeq(): number {
    return this.inFlight.size > 0 ? Math.min(...this.inFlight) - 1 : this.lastSeq;
  }

  number(): number {
    this.lastSeq += 1;
    this.inFlight.add(this.lastSeq);
    return this.lastSeq;
  }

  store(seq: number, from = '1', clientMsgId = `c${seq}`, text = `text ${seq}`): Message {
    const at = new Date(1_700_000_000_000 + seq).toISOString();
    const message: Message = {
      id: String(9_007_199_254_740_993n + BigInt(seq)),
      topic: this.topic,
      seq,
      from,
      clientMsgId,
      type: 'text',
      content: { text },
      head: null,
      mentionedUserIds: [],
      mentionAll: false,
      replySeq: null,
      rootSeq: null,
      status: 'normal',
      version: 1,
      createdAt: at,
      updatedAt: at,
    };
    this.rows.set(seq, message);
    this.inFlight.delete(seq);
    return message;
  }

  tombstone(seq: number): void {
    this.voids.add(seq);
    this.inFlight.delete(seq);
  }

  change(
    seq: number,
    status: MessageStatus,
    text = `edited ${this.changes.length}`,
  ): MessageChange & { change: number } {
    const old = this.rows.get(seq);
    if (!old || old.type !== 'text') throw new Error(`no row ${seq}`);
    const version = old.version + 1;
    const content = status === 'normal' ? { text } : null;
    const updatedAt = new Date(1_800_000_000_000 + this.changes.length).toISOString();
    this.rows.set(seq, { ...old, version, status, content, updatedAt });
    const change = { change: this.changes.length + 1, topic: this.topic, seq, version, status, content, updatedAt };
    this.changes.push(change);
    return change;
  }

  /** Stored rows in order, without what this reader has hidden. */
  messages(): Message[] {
    return [...this.rows.values()].filter((row) => !this.hidden.has(row.seq)).sort((a, b) => a.seq - b.seq);
  }

  page({ afterSeq, beforeSeq, limit, stableSeq = this.stableSeq }: PageQuery): HistoryPage {
    const common = { stableSeq, lastSeq: this.lastSeq, source: 'mysql' as const };
    if (afterSeq === undefined) {
      const below = this.messages().filter((row) => beforeSeq === undefined || row.seq < beforeSeq);
      const messages = below.slice(-limit);
      return { ...common, messages, nextAfterSeq: messages.at(-1)?.seq ?? 0, hasMore: below.length > messages.length };
    }
    const examined = [...this.rows.keys(), ...this.voids].filter((seq) => seq > afterSeq).sort((a, b) => a - b);
    const messages: Message[] = [];
    let nextAfterSeq = afterSeq;
    for (const seq of examined) {
      const row = this.rows.get(seq);
      const visible = row !== undefined && !this.hidden.has(seq);
      if (visible && messages.length === limit) break;
      if (visible) messages.push(row);
      nextAfterSeq = seq;
    }
    return { ...common, messages, nextAfterSeq, hasMore: nextAfterSeq < (examined.at(-1) ?? 0) };
  }

  changesPage(afterChange: number, limit: number): ChangesPage {
    const changes = this.changes.filter(({ change }) => change > afterChange).slice(0, limit);
    const nextAfterChange = changes.at(-1)?.change ?? afterChange;
    const lastChange = this.changes.length;
    return { changes, nextAfterChange, hasMore: nextAfterChange < lastChange, lastChange };
  }
}
