import { isSeq, type Seq } from '../../platform/ids/ids.js';
import type { Message, Quote } from './group-message.types.js';

/** What a quote shows of a text, code points. */
export const QUOTE_LENGTH = 200;
/** A quote takes no more in an answer: 200 code points, each an escape of six bytes, and the fields around them. */
export const MAX_QUOTE_BYTES = 1_500;

/** The seq that a message quotes, null when it quotes none. Only what came before it can be quoted. */
export function quotedSeq(message: Message): Seq | null {
  const quote = (message.head as { quote?: unknown } | null)?.quote;
  return isSeq(quote) && quote > 0 && quote < message.seq ? quote : null;
}

/** Stands in the text of every message that quotes another one; most texts without it need not be parsed. */
export const QUOTE_MARK = '"quote":';

/** @param text JSON of a message. @returns it, when it quotes another one */
export function quotingMessage(text: string): Message | null {
  if (!text.includes(QUOTE_MARK)) return null;
  const message = JSON.parse(text) as Message;
  return quotedSeq(message) === null ? null : message;
}

/** A message as it is shown where it is quoted; one that is gone shows nothing. */
export function quoteOf({ seq, from, type, status, version, content }: Message): Quote {
  return { seq, from, type, status, version, text: status === 'normal' ? previewOf(type, content) : null };
}

function previewOf(type: string, content: object | null): string | null {
  const { text, name } = (content ?? {}) as { text?: unknown; name?: unknown };
  if (type === 'text') return typeof text === 'string' ? cut(text) : null;
  return type !== 'custom' && type !== 'system' && typeof name === 'string' ? cut(name) : null;
}

/** A code point is two units at most: what is cut off before they are counted is never part of the first ones. */
const cut = (text: string): string =>
  Array.from(text.slice(0, 2 * QUOTE_LENGTH))
    .slice(0, QUOTE_LENGTH)
    .join('');
