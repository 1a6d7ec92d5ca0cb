import { RawJson } from '../../platform/wire/raw-json.js';
import { QUOTE_MARK } from './quote.js';
import type { HistoryPage, Message, PageHead, Quote } from './group-message.types.js';

/** A page whose messages are text that is sent on as it was stored; most are never parsed. Readers may share one. */
export class TextPage implements HistoryPage {
  readonly nextAfterSeq: number;
  readonly stableSeq: number;
  readonly lastSeq: number;
  readonly hasMore: boolean;
  readonly source: 'hot' | 'mysql';
  private parsed?: readonly Message[];
  private written?: RawJson;
  private quoting?: boolean;

  /** @param messagesText JSON array of the messages, ascending by seq */
  constructor(
    readonly messagesText: string,
    private readonly head: PageHead,
    readonly quotes: readonly Quote[] = [],
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
    const { nextAfterSeq, stableSeq, lastSeq, hasMore, source, quotes } = this;
    const head = { nextAfterSeq, stableSeq, lastSeq, hasMore, source };
    const rest = JSON.stringify(quotes.length === 0 ? head : { ...head, quotes });
    this.written ??= new RawJson(`{"messages":${this.messagesText},${rest.slice(1)}`);
    return this.written;
  }

  /** May one of the messages quote another one? Most pages hold no such thing, and are not parsed to find that out. */
  get mayQuote(): boolean {
    this.quoting ??= this.messagesText.includes(QUOTE_MARK);
    return this.quoting;
  }

  /** The same page for one reader, with what he may see of the quoted messages. */
  with(quotes: readonly Quote[]): TextPage {
    return quotes.length === 0 ? this : new TextPage(this.messagesText, this.head, quotes);
  }

  toJSON(): unknown {
    return this.answer.toJSON();
  }
}
