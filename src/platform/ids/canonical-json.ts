import { hash } from 'node:crypto';

/** JSON with sorted keys, so that two bodies that mean the same have the same text. Takes checked plain JSON only. */
export function canonicalJson(value: unknown): string {
  // Most clients write few keys, in an order that is sorted already: the engine's own is several times faster.
  return canonicalOf(value, () => JSON.stringify(value ?? null));
}

/** The same of a value whose plain JSON is at hand. */
export function canonicalOf(value: unknown, plain: () => string): string {
  return isSorted(value) ? plain() : sortedJson(value);
}

function isSorted(value: unknown): boolean {
  if (value === null || typeof value !== 'object') return true;
  if (Array.isArray(value)) return value.every(isSorted);
  let last = '';
  for (const key of Object.keys(value)) {
    if (key < last || !isSorted((value as Record<string, unknown>)[key])) return false;
    last = key;
  }
  return true;
}

function sortedJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => sortedJson(item ?? null)).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value ?? null);
  const record = value as Record<string, unknown>;
  const parts = Object.keys(record)
    .filter((key) => record[key] !== undefined)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${sortedJson(record[key])}`);
  return `{${parts.join(',')}}`;
}

/** SHA-256 of the canonical JSON: the digest that tells a retry from another request under the same id. */
export function digestOf(value: unknown): Buffer {
  return digestOfText(canonicalJson(value));
}

/** @param canonical such JSON */
export const digestOfText = (canonical: string): Buffer => hash('sha256', canonical, 'buffer');
