import type { Schema } from './document.js';

const poisoned = (json: string): unknown => JSON.parse(json);

function nested(levels: number): object {
  let value: object = {};
  for (let level = 0; level < levels; level += 1) value = { a: value };
  return value;
}

/** In place of an id, a number, a topic or a code in the address: none of them is one. */
export const HOSTILE_SEGMENTS = [
  '-1',
  '0x10',
  '1e3',
  '1.5',
  '99999999999999999999',
  'undefined',
  '%00',
  '%F0%9F%92%A9',
  '%ED%A0%80',
  '..%2F..%2Fetc',
  '%27%20OR%201=1--',
  '__proto__',
  'x'.repeat(5_000),
  '%20',
  'grp_0',
  'grp_-1',
  'p2p_2_1',
];

/** Bodies that no call takes. */
export const HOSTILE_BODIES: readonly unknown[] = [
  [],
  [{}],
  'text',
  5,
  true,
  poisoned('{"__proto__":{"admin":true}}'),
  poisoned('{"constructor":{"prototype":{"admin":true}}}'),
  { unknownField: 1 },
  { toString: 1, hasOwnProperty: 1 },
  { '': 1 },
  nested(200),
];

/** Values of which none is of the type. */
export function wrongFor(schema: Schema): unknown[] {
  const values: [kind: string, value: unknown][] = [
    ['number', 1e300],
    ['number', -1],
    ['boolean', true],
    ['string', 'x'],
    ['array', [[[]]]],
    ['array', Array.from({ length: 5_000 }, () => 1)],
    ['object', { a: 1 }],
    ['object', poisoned('{"__proto__":{"a":1}}')],
  ];
  const kind = schema.type === 'integer' ? 'number' : schema.type;
  if (kind === undefined) return [];
  const wrong = values.filter(([one]) => one !== kind).map(([, value]) => value);
  return schema.nullable ? wrong : [...wrong, null];
}

/** Of the right type, and most of them of no use. */
export function oddFor(schema: Schema): unknown[] {
  if (schema.type === 'string') {
    return [
      '',
      '\u0000',
      '\ud800',
      '\u202e\u200b',
      "' OR 1=1 --",
      '{{7*7}}',
      '*',
      'x'.repeat(20_000),
      '💩'.repeat(300),
    ];
  }
  if (schema.type === 'number' || schema.type === 'integer') return [-1, 0, 1.5, 2 ** 53, 1e300];
  if (schema.type === 'array') return [[], [null], [{}], ['x'], Array.from({ length: 3_000 }, () => '1'), [[]]];
  if (schema.type === 'object') return [{}, nested(30), { ['x'.repeat(10_000)]: 1 }];
  return [];
}

/** In place of the value of a query parameter. */
export const HOSTILE_QUERIES = [
  '-1',
  '1e3',
  '99999999999999999999',
  '%00',
  '%ED%A0%80',
  "'%20OR%201=1--",
  'x'.repeat(3_000),
];
