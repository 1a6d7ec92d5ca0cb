import fc from 'fast-check';
import { canonicalJson, digestOf } from '../../../src/platform/ids/canonical-json.js';
import { compareIds, isDecimalId, isSeq } from '../../../src/platform/ids/ids.js';
import { findJsonProblem, jsonDepth, MAX_JSON_DEPTH } from '../../../src/platform/ids/plain-json.js';
import { groupIdOf, groupTopic, isTopic, parseTopic } from '../../../src/platform/ids/topic.js';

describe('canonical JSON', () => {
  it('sorts keys at every level and leaves out what is undefined', () => {
    expect(canonicalJson({ b: [1, { z: null, a: 'x' }], a: undefined, A: true })).toBe(
      '{"A":true,"b":[1,{"a":"x","z":null}]}',
    );
  });

  it('is the same for the same JSON in any order of keys, and parses back to it', () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false } as never), (value) => {
        const plain = JSON.parse(JSON.stringify(value)) as unknown;
        expect(canonicalJson(reversed(plain))).toBe(canonicalJson(plain));
        expect(JSON.parse(canonicalJson(plain))).toEqual(plain);
      }),
    );
  });

  it('tells bodies apart that differ in anything', () => {
    const bodies = [
      { a: 1 },
      { a: '1' },
      { a: null },
      { a: [1] },
      { a: { b: 1 } },
      { a: {} },
      { a: [] },
      { b: 1 },
      [{ a: 1 }],
      { a: 'A' },
    ];
    expect(new Set(bodies.map((body) => digestOf(body).toString('hex'))).size).toBe(bodies.length);
    expect(digestOf({ a: 1, b: 2 })).toEqual(digestOf({ b: 2, a: 1 }));
    expect(digestOf({})).toHaveLength(32);
  });
});

/** The same JSON with the keys of every object the other way round. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (value === null || typeof value !== 'object') return value;
  const turned = Object.entries(value).reverse();
  const copy: Record<string, unknown> = {};
  for (const [key, item] of turned) Object.defineProperty(copy, key, { value: reversed(item), enumerable: true });
  return copy;
}

describe('plain JSON', () => {
  it('is let through', () => {
    expect(findJsonProblem({ a: [1, 'x', true, null, { b: -0.5 }], 'constructor ': 1, toString: 2 })).toBeNull();
  });

  it.each([
    ['__proto__', '{"a":[{"__proto__":{"isAdmin":true}}]}', 'a[0].__proto__'],
    ['constructor', '{"constructor":{"prototype":{"muted":false}}}', 'constructor'],
    ['prototype', '{"x":{"y":{"prototype":1}}}', 'x.y.prototype'],
  ])('is not, with a key %s anywhere', (_key, text, field) => {
    expect(findJsonProblem(JSON.parse(text))).toEqual({ field, problem: 'is a forbidden key' });
    expect(({} as { isAdmin?: unknown }).isAdmin).toBeUndefined();
  });

  it.each([
    ['a function', { a: () => 1 }],
    ['undefined', { a: undefined }],
    ['NaN', { a: NaN }],
    ['Infinity', { a: [Infinity] }],
    ['a big integer', { a: 1n }],
    ['binary', { a: Buffer.from('x') }],
    ['a date', { a: new Date() }],
    ['a map', new Map()],
  ])('is not: %s', (_what, value) => {
    expect(findJsonProblem(value)).not.toBeNull();
  });

  it('ends at its greatest depth', () => {
    const nested = (depth: number): unknown => (depth === 0 ? 1 : { a: nested(depth - 1) });
    expect(findJsonProblem(nested(MAX_JSON_DEPTH))).toBeNull();
    expect(findJsonProblem(nested(MAX_JSON_DEPTH + 1))).toMatchObject({
      problem: expect.stringContaining('deeper') as string,
    });
    expect(jsonDepth(nested(7))).toBe(7);
    expect([jsonDepth(1), jsonDepth(null), jsonDepth([]), jsonDepth([[1]])]).toEqual([0, 0, 1, 2]);
  });
});

describe('decimal ids', () => {
  it.each(['1', '42', '9007199254740993', '9223372036854775807'])('%s is one', (id) =>
    expect(isDecimalId(id)).toBe(true),
  );
  it.each([
    '',
    '0',
    '01',
    '-1',
    '+1',
    '1.0',
    '1e3',
    ' 1',
    '1 ',
    '9223372036854775808',
    '10000000000000000000',
    '１',
    1,
    null,
    undefined,
    {},
  ])('%j is none', (id) => expect(isDecimalId(id)).toBe(false));

  it('are ordered as numbers, beyond 2^53, too', () => {
    const ids = ['10', '9', '9007199254740993', '9007199254740992', '2'];
    expect([...ids].sort(compareIds)).toEqual(['2', '9', '10', '9007199254740992', '9007199254740993']);
    expect(compareIds('7', '7')).toBe(0);
  });

  it('and seqs are whole numbers from 0 to 2^53 - 1', () => {
    for (const good of [0, 1, Number.MAX_SAFE_INTEGER]) expect(isSeq(good)).toBe(true);
    for (const bad of [-1, 0.5, NaN, Infinity, Number.MAX_SAFE_INTEGER + 1, '1', null]) expect(isSeq(bad)).toBe(false);
  });
});

describe('topics', () => {
  it('are taken apart', () => {
    expect(parseTopic('grp_12')).toEqual({ kind: 'group', groupId: '12' });
    expect(parseTopic('p2p_9_10')).toEqual({ kind: 'p2p', low: '9', high: '10' });
    expect(parseTopic('self_3')).toEqual({ kind: 'self', uid: '3' });
    expect(parseTopic('room_4')).toEqual({ kind: 'room', roomId: '4' });
    expect(groupIdOf(groupTopic('12'))).toBe('12');
  });

  it.each([
    '',
    'grp',
    'grp_',
    'grp_0',
    'grp_01',
    'grp_1_',
    'grp_1_2',
    'GRP_1',
    'grp_1 ',
    ' grp_1',
    'grp_x',
    'p2p_1',
    'p2p_2_1',
    'p2p_1_1',
    'p2p_10_9',
    'p2p_1_2_3',
    'self_1_2',
    'constructor',
    '__proto__',
    'grp_1}:x',
    'grp_9223372036854775808',
  ])('%j is none', (text) => expect(parseTopic(text)).toBeNull());

  it('are strings', () => {
    for (const value of [undefined, null, 1, {}, ['grp_1']]) expect(isTopic(value)).toBe(false);
    expect(() => groupIdOf('self_1' as never)).toThrow('not a group topic');
  });
});
