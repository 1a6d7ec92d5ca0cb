declare const brand: unique symbol;
type Brand<T, B extends string> = T & { readonly [brand]: B };

/** Decimal string; `0` is the platform itself. */
export type TenantId = Brand<string, 'TenantId'>;
/** Decimal string. */
export type UserId = Brand<string, 'UserId'>;
/** `grp_<groupId>`, `p2p_<lowUid>_<highUid>`, `self_<uid>` or `room_<roomId>`. */
export type Topic = Brand<string, 'Topic'>;
/** Whole number from 0 to 2^53 - 1; the first message of a topic has 1. */
export type Seq = Brand<number, 'Seq'>;

/** Who asks: comes from the verified access token alone, never from a header, a query or a body. */
export interface Actor {
  readonly tenant: TenantId;
  readonly uid: UserId;
  /** The login session (`im_sessions.id`) that the token belongs to. */
  readonly sessionId: string;
}

const DECIMAL_ID = /^[1-9]\d{0,18}$/;
const MAX_ID = 9223372036854775807n;

/** Is this a decimal id that fits a signed BIGINT column and is written in its only form (no sign, no leading zero)? */
export function isDecimalId(value: unknown): value is string {
  return typeof value === 'string' && DECIMAL_ID.test(value) && BigInt(value) <= MAX_ID;
}

export function isSeq(value: unknown): value is Seq {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

export const asTenantId = (value: string): TenantId => value as TenantId;
export const asUserId = (value: string): UserId => value as UserId;
export const asTopic = (value: string): Topic => value as Topic;
export const asSeq = (value: number): Seq => value as Seq;

/** Orders ids as numbers, also beyond 2^53. */
export function compareIds(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}
