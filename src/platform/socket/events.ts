/**
 * Events that the server sends. Each module adds its own by declaration merging, so that a payload has one declared
 * type wherever it is emitted:
 * `declare module '../../platform/socket/events.js' { interface ServerEvents { 'x:changed': XChanged } }`
 */
// eslint-disable-next-line @typescript-eslint/no-empty-object-type -- filled by the modules
export interface ServerEvents {}

export type ServerEventName = keyof ServerEvents & string;

/** What every acknowledgement is. */
export type Ack =
  { readonly ok: true; readonly [field: string]: unknown } | { readonly ok: false; readonly error: object };
