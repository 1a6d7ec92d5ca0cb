import { buildConfig, EMPTY_CONFIG, parse, type ConfigRows } from '../../../src/modules/config/config-snapshot.js';

const NO_ROWS: ConfigRows = { configs: [], dicts: [], thirdParties: [] };
const config = (key: string, type: string, value: string | null) => ({ group: 'g', key, name: '', type, value });
const refuse = (): string => {
  throw new Error('was changed');
};

describe('values', () => {
  it.each([
    ['int', '42', 42],
    ['int64', '-7', -7],
    ['uint', '0', 0],
    ['float64', '1.5', 1.5],
    ['bool', 'true', true],
    ['bool', '0', false],
    ['string', '', ''],
    ['json', '{"a":[1]}', { a: [1] }],
    ['[]string', '["a"]', ['a']],
    ['datetime', '2026-01-02 03:04:05', '2026-01-02 03:04:05'],
    ['a type of later', 'x', 'x'],
    ['int', null, null],
  ])('%s %j', (type, text, value) => expect(parse(type, text)).toEqual(value));

  it.each([
    ['int', 'four'],
    ['int', '1.5'],
    ['int', ''],
    ['int', '9007199254740993'],
    ['uint', '-1'],
    ['float64', 'Infinity'],
    ['bool', 'yes'],
    ['json', '{hunter2'],
    ['date', 'hunter2'],
  ])('%s %j is refused without a word of the value', (type, text) => {
    expect(() => parse(type, text)).toThrow();
    expect(() => parse(type, text)).not.toThrow(/hunter2|four/);
  });

  it('of JSON cannot be changed by who reads them', () => {
    const value = parse('json', '{"a":{"b":1}}') as { a: { b: number } };
    expect(() => (value.a.b = 2)).toThrow(TypeError);
  });
});

describe('a row that does not parse', () => {
  const good: ConfigRows = {
    configs: [config('size', 'int', '5'), config('other', 'int', '1')],
    dicts: [{ id: '1', type: 'd', label: 'One', value: '1', valueType: 'int', isDefault: 1, sort: 0 }],
    thirdParties: [{ tenant: '7', kind: 'sms', settings: '{"sign":"A"}', secrets: null }],
  };

  it('keeps what it held and is reported, the rest is taken', () => {
    const before = buildConfig(good, EMPTY_CONFIG, refuse).snapshot;
    const { snapshot, problems } = buildConfig(
      {
        configs: [config('size', 'int', 'five'), config('other', 'int', '2')],
        dicts: [{ ...good.dicts[0], value: 'one' }],
        thirdParties: [{ ...good.thirdParties[0], secrets: 'broken' }],
      },
      before,
      refuse,
    );
    expect(snapshot.configs.get('g')!.get('size')!.value).toBe(5);
    expect(snapshot.configs.get('g')!.get('other')!.value).toBe(2);
    expect(snapshot.dicts.get('d')![0].value).toBe(1);
    expect(snapshot.thirdParties.get('7/sms')!.settings).toEqual({ sign: 'A' });
    expect(problems.map(({ row }) => row)).toEqual(['config/g/size', 'dict/d/1', 'third-party/7/sms']);
  });

  it('and never did is left out; one that is gone is gone', () => {
    const { snapshot, problems } = buildConfig(
      { ...NO_ROWS, configs: [config('size', 'int', 'x')] },
      EMPTY_CONFIG,
      refuse,
    );
    expect(snapshot.configs.size).toBe(0);
    expect(problems).toHaveLength(1);
    const before = buildConfig(good, EMPTY_CONFIG, refuse).snapshot;
    expect(buildConfig(NO_ROWS, before, refuse).snapshot.configs.size).toBe(0);
  });

  it('leaves the old snapshot as it was', () => {
    const before = buildConfig(good, EMPTY_CONFIG, refuse).snapshot;
    buildConfig({ ...good, configs: [config('size', 'int', '6')] }, before, refuse);
    expect(before.configs.get('g')!.get('size')!.value).toBe(5);
  });
});
