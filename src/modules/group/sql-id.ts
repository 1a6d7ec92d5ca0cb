import { isDecimalId } from '../../platform/ids/ids.js';

/**
 * An id as SQL parameter. As a number literal it is compared exactly (a string would be compared as a double above 2^53),
 * and a missing or malformed id can never become a condition.
 * @throws Error for anything but a decimal id: callers have validated before
 */
export function sqlId(id: string): bigint {
  if (!isDecimalId(id)) throw new Error('not an id');
  return BigInt(id);
}

/** Ids in ascending order, each once: all changes touch rows in this order. */
export function sqlIds(ids: readonly string[]): bigint[] {
  return [...new Set(ids.map(sqlId))].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
}
