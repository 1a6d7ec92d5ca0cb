const FORBIDDEN_KEYS = new Set(['__proto__', 'constructor', 'prototype']);

/** Deepest nesting of any request body. Databases differ above (MariaDB's JSON functions end at 31). */
export const MAX_JSON_DEPTH = 24;

/**
 * Looks through a decoded request before anything else does.
 * @returns what is wrong and where, or null when the value is plain JSON without dangerous keys.
 */
export function findJsonProblem(value: unknown, path = '', depth = 0): { field: string; problem: string } | null {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return null;
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) return { field: path, problem: 'is not a finite number' };
    // Its last digits are lost already; stored, it would be another number.
    const rounded = Number.isInteger(value) && !Number.isSafeInteger(value);
    return rounded
      ? { field: path, problem: 'is beyond 2^53 and would lose digits (ids are strings, other numbers are smaller)' }
      : null;
  }
  if (typeof value !== 'object') return { field: path, problem: 'is not JSON' };
  if (depth >= MAX_JSON_DEPTH) return { field: path, problem: `is nested deeper than ${MAX_JSON_DEPTH}` };
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      const found = findJsonProblem(value[index], `${path}[${index}]`, depth + 1);
      if (found) return found;
    }
    return null;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return { field: path, problem: 'is binary, not JSON' };
  for (const [key, item] of Object.entries(value)) {
    const here = path === '' ? key : `${path}.${key}`;
    if (FORBIDDEN_KEYS.has(key)) return { field: here, problem: 'is a forbidden key' };
    const found = findJsonProblem(item, here, depth + 1);
    if (found) return found;
  }
  return null;
}

/** Levels of nesting: a scalar has 0, `{}` has 1. */
export function jsonDepth(value: unknown): number {
  if (value === null || typeof value !== 'object') return 0;
  let deepest = 0;
  for (const item of Object.values(value)) deepest = Math.max(deepest, jsonDepth(item));
  return deepest + 1;
}
