import type { HistoryPage, MessagesFrame } from '../../src/modules/group-message/group-message.types.js';
import { asSeq, type Topic } from '../../src/platform/ids/ids.js';
import type { GuardedProcess } from './pipeline-gates.js';
import { actor } from './pipeline.js';

const PAGE = 3;

/** A client that follows the published rule: it keeps a cursor, all at or below it known. */
export class CursorReader {
  cursor = 0;
  /** Client id by seq, of all messages that it was shown. */
  readonly known = new Map<number, string>();
  private readonly voids = new Set<number>();
  private position = 0;
  private reading: object | null = null;

  constructor(
    private readonly topic: Topic,
    private readonly violated: (what: string) => void,
  ) {}

  get busy(): boolean {
    return this.reading !== null;
  }

  /** Asks for the next page, if none is under way. A failed one moves nothing. */
  async read(process: GuardedProcess): Promise<void> {
    if (this.reading) return;
    const request = (this.reading = {});
    const afterSeq = this.position;
    try {
      const page = await process.node.history.page(actor('1'), this.topic, { afterSeq: asSeq(afterSeq), limit: PAGE });
      if (this.reading === request) this.apply(afterSeq, page);
    } catch {
      this.position = this.cursor;
    } finally {
      if (this.reading === request) this.reading = null;
    }
  }

  /** Gives up a request that will not be answered. */
  reconnect(): void {
    this.reading = null;
    this.position = this.cursor;
  }

  hear(frame: MessagesFrame): void {
    for (const message of frame.messages) this.show(message.seq, message.clientMsgId);
    for (const seq of frame.voids) this.voids.add(seq);
    this.goOn();
  }

  private apply(afterSeq: number, page: HistoryPage): void {
    for (const message of page.messages) this.show(message.seq, message.clientMsgId);
    if (page.hasMore && page.nextAfterSeq <= afterSeq) this.violated(`a page after ${afterSeq} does not move forward`);
    if (afterSeq <= this.cursor) {
      const sure = page.hasMore ? Math.min(page.nextAfterSeq, page.stableSeq) : page.stableSeq;
      this.cursor = Math.max(this.cursor, sure);
    }
    this.goOn();
    this.position = page.hasMore ? page.nextAfterSeq : this.cursor;
  }

  /** What comes next and is known moves the cursor. */
  private goOn(): void {
    while (this.known.has(this.cursor + 1) || this.voids.has(this.cursor + 1)) this.cursor += 1;
  }

  private show(seq: number, clientMsgId: string): void {
    const before = this.known.get(seq);
    if (before !== undefined && before !== clientMsgId) {
      this.violated(`seq ${seq} was shown as ${before} and as ${clientMsgId}`);
    }
    this.known.set(seq, clientMsgId);
  }
}
