import { envSchema } from '../../../src/platform/env/env.js';
import { filesBelow, readText } from './sources.js';

/** Read by the launcher alone; a node knows nothing of the others. */
const LAUNCHER_SETTINGS = { NODE_COUNT: '2' };

interface Line {
  readonly name: string;
  readonly value: string;
  /** The comment lines right above, joined. */
  readonly comment: string;
}

function settingsOf(text: string): Line[] {
  const lines: Line[] = [];
  let comment: string[] = [];
  for (const line of text.split('\n')) {
    const setting = /^([A-Z0-9_]+)=(.*)$/.exec(line);
    if (line.startsWith('#')) comment.push(line.slice(1).trim());
    else if (setting) lines.push({ name: setting[1], value: setting[2], comment: comment.join(' ') });
    else if (line.trim() !== '') throw new Error(`.env.example: what is this? ${line}`);
    if (!line.startsWith('#')) comment = [];
  }
  return lines;
}

const UNITS: [ending: string, unit: RegExp][] = [
  ['_MS', /\bms\b/],
  ['_SECONDS', /\bseconds\b/],
];

describe('.env.example', () => {
  const lines = settingsOf(readText('.env.example'));
  const schema = envSchema.shape;
  const known = Object.entries(schema);

  it('names every setting and nothing else, once', () => {
    const expected = [...Object.keys(schema), ...Object.keys(LAUNCHER_SETTINGS)].sort();
    expect(lines.map((line) => line.name).sort()).toEqual(expected);
  });

  it.each(known)('%s has its default', (name, rule) => {
    const written = lines.find((line) => line.name === name)!.value;
    const byDefault = rule.safeParse(undefined);
    // Without a default the line is empty, which counts as not given: the launcher then makes the server or the secret.
    if (byDefault.success && written !== '') expect(rule.parse(written)).toEqual(byDefault.data);
    else if (byDefault.success) expect(byDefault.data).toEqual(rule.parse(''));
    else expect(written).toBe('');
  });

  it.each(Object.entries(LAUNCHER_SETTINGS))('%s has its default', (name, value) => {
    expect(lines.find((line) => line.name === name)!.value).toBe(value);
  });

  it('has a reader for each, or docs/operations.md says that there is none yet', () => {
    const readers = filesBelow('src', '.ts').filter(({ path }) => !path.startsWith('src/platform/env/'));
    const unread = Object.keys(schema).filter(
      // Libraries read this one.
      (name) => name !== 'NODE_ENV' && !readers.some(({ text }) => new RegExp(`\\b${name}\\b`).test(text)),
    );
    const [line = ''] = /^Without effect yet.*$/m.exec(readText('docs/operations.md')) ?? [];
    expect([...line.matchAll(/`(\w+)`/g)].map(([, name]) => name)).toEqual(unread.sort());
  });

  it('says of every setting what it is, and its unit', () => {
    for (const { name, comment } of lines) {
      expect(`${name}: ${comment}`).toMatch(/: .{10,}/);
      for (const [ending, unit] of UNITS) if (name.endsWith(ending)) expect(`${name}: ${comment}`).toMatch(unit);
    }
  });
});
