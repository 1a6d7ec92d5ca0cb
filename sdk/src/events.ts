import type { Session } from './auth.js';
import type { ConnectionState } from './connection.js';
import type { TridentError } from './errors.js';
import type { SendHandle } from './outbox.js';
import type { AppliedChange } from './topic-state.js';
import type { Message, OkOf, Presence, ServerEvent, ServerEvents } from './wire.js';

/** A server event as it came, before the client looked at it. */
export type WireEvent = { [E in ServerEvent]: { event: E; payload: ServerEvents[E] } }[ServerEvent];

/** What `client.on` can listen to. Names with a colon are the server's own. */
export interface ClientEvents {
  /** the connection's state changed */
  connection: { state: ConnectionState };
  /** new tokens; keep them to `resume` later */
  session: Session;
  /** the user is signed out (or the tenant closed) and the client has stopped */
  'signed-out': { error: TridentError };
  /** a message that was not known before: each once, at once; its place is its seq, a gap below may still be open */
  message: { topic: string; message: Message };
  /** the same messages strictly in order, each when everything below it is known */
  ordered: { topic: string; message: Message };
  /** a message was edited, recalled, removed or blocked; `message` is its new state when it is in the window */
  'message:changed': { topic: string } & AppliedChange;
  'message:hidden': { topic: string; seqs: number[] };
  /** a queued message was taken in, refused for a moment, sent or failed: see `state` and `error` */
  send: SendHandle;
  /** everything up to `cursor` is known and nothing newer was heard of */
  'topic:synced': { topic: string; cursor: number };
  /** the server counted a `markRead` */
  'topic:read': { topic: string } & OkOf<'topic:read'>;
  'topic:cursor': ServerEvents['topic:cursor'];
  'topic:typing': ServerEvents['topic:typing'];
  'topic:resync': ServerEvents['topic:resync'];
  'group:changed': ServerEvents['group:changed'];
  'presence:changed': Presence;
  'session:ready': ServerEvents['session:ready'];
  'session:closing': ServerEvents['session:closing'];
  /** every server event, unchanged */
  wire: WireEvent;
  /** something in the background was refused for good, storage failed, or a listener threw */
  error: { topic?: string; error: unknown };
}
