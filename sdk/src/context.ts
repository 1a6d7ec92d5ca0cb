import type { ClientEvents } from './events.js';
import type { Link } from './link.js';
import type { Runtime } from './runtime.js';
import type { ClientCall, OkOf, PayloadOf } from './wire.js';

/** A socket call; rejects with a TridentError. */
export type Request = <C extends ClientCall>(call: C, payload: PayloadOf<C>) => Promise<OkOf<C>>;

/** What the parts of a client share. */
export interface Context {
  runtime: Runtime;
  link: Link;
  request: Request;
  emit<E extends keyof ClientEvents>(event: E, payload: ClientEvents[E]): void;
  /** tells an error of the background */
  report(error: unknown, topic?: string): void;
}
