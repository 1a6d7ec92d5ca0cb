import { Inject, Injectable } from '@nestjs/common';
import { ENV, type Env } from '../env/env.js';
import { KEY_FAMILIES, type KeyFamilyName, type KeyParams } from './key-families.js';

type ParamsOf<F extends KeyFamilyName> = Record<KeyParams<(typeof KEY_FAMILIES)[F]['pattern']>, string>;

/** A pattern cut into literals (even places) and parameter names (odd places). */
const SEGMENTS = Object.fromEntries(
  Object.entries(KEY_FAMILIES).map(([name, family]) => [name, family.pattern.split(/<(\w+)>/)]),
) as Record<KeyFamilyName, string[]>;

const SAFE = /^[A-Za-z0-9_.:@-]*$/;

/** Values that a user chose can hold braces or spaces; escaped, two different values never give one key. */
const escapeValue = (value: string): string => (SAFE.test(value) ? value : encodeURIComponent(value));

/** The only place that spells a Redis key. */
@Injectable()
export class RedisKeys {
  readonly prefix: string;

  constructor(@Inject(ENV) env: Pick<Env, 'REDIS_KEY_PREFIX'>) {
    this.prefix = env.REDIS_KEY_PREFIX;
  }

  of<F extends KeyFamilyName>(family: F, params: ParamsOf<F>): string {
    const segments = SEGMENTS[family];
    const values = params as Record<string, string>;
    let key = `${this.prefix}:${segments[0]}`;
    for (let index = 1; index < segments.length; index += 2) {
      const value = values[segments[index]];
      if (typeof value !== 'string' || value === '') throw new Error(`key ${family} needs ${segments[index]}`);
      key += escapeValue(value) + segments[index + 1];
    }
    return key;
  }
}
