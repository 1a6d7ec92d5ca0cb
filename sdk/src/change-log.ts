import type { ChangesPage, Message, MessageChange } from './wire.js';

const MAX_AHEAD = 10_000;
const MAX_WAITING = 1000;

/** The message as it is after a change; the seq stays, a body that may not be read any more goes. */
export const patched = (message: Message, { version, status, content, updatedAt }: MessageChange): Message => {
  const kept = content === undefined ? message.content : content;
  return { ...message, version, status, updatedAt, content: status === 'normal' ? kept : null } as Message;
};

/**
 * What is known about changes of one topic: the change cursor (all changes up to it are known; change numbers have no
 * holes) and the changes of messages that are not here, kept until the message arrives. No I/O.
 */
export const createChangeLog = () => {
  /** null: no head has said yet where this device starts, or the server has no change numbers */
  let cursor: number | null = null;
  let newest = 0;
  const ahead = new Set<number>();
  const waiting = new Map<number, MessageChange>();

  const note = (change: number, upTo = cursor): void => {
    newest = Math.max(newest, change);
    if (upTo === null) return;
    cursor = Math.max(cursor ?? 0, upTo);
    while (ahead.has(cursor + 1)) cursor += 1;
    for (const number of ahead) if (number <= cursor) ahead.delete(number);
  };

  return {
    cursor: () => cursor,
    /** True while a change is known to exist that has not been read. */
    behind: () => cursor !== null && newest > cursor,
    /** Begins at a change number, unless it has begun. */
    begin(lastChange: number | null = null): void {
      cursor ??= lastChange;
      note(lastChange ?? 0);
    },
    noteNumber(change: number | undefined): void {
      if (change === undefined) return;
      if (ahead.size < MAX_AHEAD) ahead.add(change);
      note(change);
    },
    /** A page moves the cursor only when it starts at or below it. */
    notePage(afterChange: number, { lastChange, nextAfterChange }: ChangesPage): void {
      note(lastChange ?? 0, cursor !== null && afterChange <= cursor ? nextAfterChange : cursor);
    },
    /** Keeps a change of a message that is not here; false when a change at least as new is kept already. */
    keep(change: MessageChange): boolean {
      const { seq, version } = change;
      if ((waiting.get(seq)?.version ?? -1) >= version) return false;
      waiting.delete(seq);
      waiting.set(seq, change);
      if (waiting.size > MAX_WAITING) for (const [oldest] of waiting) return waiting.delete(oldest);
      return true;
    },
    waitingFor: (seq: number): MessageChange | undefined => waiting.get(seq),
    /** The message with the change that waited for it, if that is newer. */
    merged(message: Message): Message {
      const change = waiting.get(message.seq);
      return change && change.version > message.version ? patched(message, change) : message;
    },
    /** The message is in the window now, where later changes find it. */
    arrived(seq: number): void {
      waiting.delete(seq);
    },
  };
};
