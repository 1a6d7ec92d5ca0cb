import type { MessageChange, Quote } from './wire.js';

const MAX_QUOTES = 1000;
const SHOWN_CODE_POINTS = 200;

/** A change, or the message as it is now. */
type Changed = Pick<MessageChange, 'seq' | 'version' | 'status' | 'content'>;

/** What quoted messages of one topic look like, the newest state known of each. */
export const createQuotes = () => {
  const quotes = new Map<number, Quote>();
  return {
    get: (seq: number): Quote | undefined => quotes.get(seq),
    note(quote: Quote): void {
      if (quote.version >= (quotes.get(quote.seq)?.version ?? 0)) quotes.set(quote.seq, quote);
      for (const [oldest] of quotes) if (quotes.size > MAX_QUOTES) quotes.delete(oldest);
    },
    /** A message was changed: its quotes show what the server would compose of it now. */
    patch({ seq, version, status, content }: Changed): void {
      const old = quotes.get(seq);
      if (!old || version <= old.version) return;
      const { text: body, name } = (content ?? {}) as { text?: string; name?: string };
      const now = old.type === 'text' ? body : name;
      const text =
        status === 'normal' ? (now === undefined ? old.text : [...now].slice(0, SHOWN_CODE_POINTS).join('')) : null;
      quotes.set(seq, { ...old, version, status, text });
    },
    forget: (seq: number): boolean => quotes.delete(seq),
  };
};
