import { hash } from 'node:crypto';

/** JSON with sorted keys, so that two bodies that mean the same have the same text. Takes checked plain JSON only. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null)).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value ?? null);
  const record = value as Record<string, unknown>;
  const parts = Object.keys(record)
    .filter((key) => record[key] !== undefined)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(record[key])}`);
  return `{${parts.join(',')}}`;
}

/** SHA-256 of the canonical JSON: the digest that tells a retry from another request under the same id. */
export function digestOf(value: unknown): Buffer {
  return hash('sha256', canonicalJson(value), 'buffer');
}
