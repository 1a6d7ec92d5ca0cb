import { RawJson } from '../../platform/wire/raw-json.js';
import type { HistoryPage, Message, PageHead } from './group-message.types.js';

/** A page whose messages are text that is sent on as it was stored; most are never parsed. Readers may share one. */
export class TextPage implements HistoryPage {
  readonly nextAfterSeq: number;
  readonly stableSeq: number;
  readonly lastSeq: number;
  readonly hasMore: boolean;
  readonly source: 'hot' | 'mysql';
  private parsed?: readonly Message[];
  private written?: RawJson;

  /** @param messagesText JSON array of the messages, ascending by seq */
  constructor(
    readonly messagesText: string,
    head: PageHead,
  ) {
    this.nextAfterSeq = head.nextAfterSeq;
    this.stableSeq = head.stableSeq;
    this.lastSeq = head.lastSeq;
    this.hasMore = head.hasMore;
    this.source = head.source;
  }

  get messages(): readonly Message[] {
    this.parsed ??= JSON.parse(this.messagesText) as Message[];
    return this.parsed;
  }

  get answer(): RawJson {
    const { nextAfterSeq, stableSeq, lastSeq, hasMore, source } = this;
    const rest = JSON.stringify({ nextAfterSeq, stableSeq, lastSeq, hasMore, source });
    this.written ??= new RawJson(`{"messages":${this.messagesText},${rest.slice(1)}`);
    return this.written;
  }

  toJSON(): unknown {
    return this.answer.toJSON();
  }
}
