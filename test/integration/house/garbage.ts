/** Everything that a client can send in place of a payload and that no event takes. `args` are what comes before the ack. */
export interface Garbage {
  readonly what: string;
  readonly args: readonly unknown[];
}

/** JSON keeps such a key, a literal would set the prototype. */
const poisoned = (json: string): unknown => JSON.parse(json);

function nested(levels: number): object {
  let value: object = {};
  for (let level = 0; level < levels; level += 1) value = { a: value };
  return value;
}

/** Every field that any event has, all of one value. */
const allFields = (value: unknown): object =>
  Object.fromEntries(
    ['topic', 'topics', 'clientMsgId', 'type', 'content', 'afterSeq', 'limit', 'token'].map((name) => [name, value]),
  );

const one = (what: string, payload: unknown): Garbage => ({ what, args: [payload] });

export const GARBAGE: readonly Garbage[] = [
  one('null', null),
  one('an empty string', ''),
  one('a string', 'hello'),
  one('a JSON text', '{"topic":"grp_1"}'),
  one('a number', 42),
  one('a negative number', -1),
  one('true', true),
  one('an empty array', []),
  one('an array of objects', [{ topic: 'grp_1' }]),
  one('a __proto__', poisoned('{"__proto__":{"admin":true}}')),
  one('a nested __proto__', poisoned('{"topic":"grp_1","content":{"text":"x","a":[{"__proto__":{}}]}}')),
  one('a constructor', poisoned('{"constructor":{"prototype":{"admin":true}}}')),
  one('a field that no event has', { admin: true }),
  one('fields named like methods', { toString: 1, hasOwnProperty: 1, valueOf: 1, then: 1 }),
  one('an empty field name', { '': 1 }),
  one('binary', Buffer.from('binary')),
  one('binary in a field', allFields(Buffer.from('binary'))),
  one('70 KB', { topic: 'x'.repeat(70 * 1024) }),
  one('70 KB of binary', Buffer.alloc(70 * 1024)),
  one('200 levels', nested(200)),
  one('10 000 fields', Object.fromEntries(Array.from({ length: 8_000 }, (_, index) => [`f${index}`, 1]))),
  one('every field null', allFields(null)),
  one('every field a number', allFields(1e300)),
  one('every field an object', allFields({})),
  one('every field a list of lists', allFields([[[]]])),
  one('every field half a surrogate pair', allFields('\ud800')),
  one('every field SQL', allFields("' OR 1=1 --")),
  one('every field a glob', allFields('*')),
  one('a placeholder without binary', { _placeholder: true, num: 0 }),
  { what: 'two payloads', args: [{}, {}] },
  { what: 'twenty payloads', args: Array.from({ length: 20 }, () => null) },
];
