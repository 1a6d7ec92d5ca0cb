import type { Message } from './group-message.types.js';

/**
 * Members of the hot set, by seq: `<version>:<JSON of the message>`, or `0:<seq>` for a number that holds no message.
 * The JSON begins with `{"id":"<digits>","topic":"<topic>","seq":<digits>,`, as every message of the wire does.
 */
export const hotMember = (message: Message): string => `${message.version}:${JSON.stringify(message)}`;
export const hotHole = (seq: number): string => `0:${seq}`;

/** A member as an object: its seq, and its message or null. */
export function readCopy(member: string): [seq: number, message: Message | null] {
  const text = member.slice(member.indexOf(':') + 1);
  if (member.startsWith('0:')) return [Number(text), null];
  const message = JSON.parse(text) as Message;
  return [message.seq, message];
}

/** A member as a page needs it: where its JSON begins. */
export interface HotEntry {
  readonly seq: number;
  readonly member: Buffer;
  /** Offset of the JSON in `member`; 0 = a hole. */
  readonly from: number;
}

const [ZERO, NINE, COLON, COMMA] = [48, 57, 58, 44];
const ID_PREFIX = '{"id":"';
const AFTER_ID = '","topic":"';
const BEFORE_SEQ = '","seq":';

/** @returns null when it is written in another way: then it is not to be used */
export function readMember(member: Buffer, topic: string): HotEntry | null {
  const colon = skipDigits(member, 0);
  if (colon === 0 || member[colon] !== COLON) return null;
  if (member[0] === ZERO) {
    const seq = numberAt(member, colon + 1, member.length);
    return seq === null ? null : { seq, member, from: 0 };
  }
  const afterId = skipDigits(member, colon + 1 + ID_PREFIX.length);
  const seqFrom = afterId + AFTER_ID.length + topic.length + BEFORE_SEQ.length;
  const seqTo = skipDigits(member, seqFrom);
  if (member[seqFrom - 1] !== COLON || member[seqTo] !== COMMA) return null;
  const seq = numberAt(member, seqFrom, seqTo);
  return seq === null ? null : { seq, member, from: colon + 1 };
}

function skipDigits(member: Buffer, from: number): number {
  let at = from;
  while (member[at] >= ZERO && member[at] <= NINE) at += 1;
  return at;
}

function numberAt(member: Buffer, from: number, to: number): number | null {
  let value = 0;
  for (let at = from; at < to; at += 1) {
    if (!(member[at] >= ZERO && member[at] <= NINE)) return null;
    value = value * 10 + (member[at] - ZERO);
  }
  return to > from && Number.isSafeInteger(value) ? value : null;
}
