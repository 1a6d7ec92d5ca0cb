import { filesBelow } from './sources.js';

interface Script {
  readonly path: string;
  readonly header: string;
  readonly body: string;
  /** A piece that others include; it has no keys of its own. */
  readonly isShared: boolean;
}

const scripts: Script[] = filesBelow('src', '.lua').map(({ path, text }) => {
  const lines = text.split('\n');
  const end = lines.findIndex((line) => !line.startsWith('--') || line.startsWith('--@'));
  return {
    path,
    header: lines.slice(0, end).join('\n'),
    body: lines
      .slice(end)
      .map((line) => line.replace(/--.*$/, ''))
      .join('\n'),
    isShared: /^-- Shared:/.test(text),
  };
});

const numbersOf = (text: string, name: string): string[] => [
  ...new Set([...text.matchAll(new RegExp(`\\b${name}\\[(\\d+)\\]`, 'g'))].map(([, number]) => number)),
];

/** `KEYS[1] a   KEYS[2] b` and `ARGV[1] a  [2] b` both name them all. */
function headerNames(header: string, name: 'KEYS' | 'ARGV', number: string): boolean {
  const part = name === 'KEYS' ? header.split('ARGV')[0] : header.slice(header.indexOf('ARGV'));
  return part.includes(name) && part.includes(`[${number}]`);
}

describe('Lua scripts', () => {
  it('are found', () => expect(scripts.length).toBeGreaterThan(5));

  it.each(scripts.map((script) => [script.path, script] as const))('%s says what it is', (_path, script) => {
    expect(script.header).toMatch(/^-- [A-Z].{15,}/);
    if (script.isShared) return;
    for (const name of ['KEYS', 'ARGV'] as const) {
      const missing = numbersOf(script.body, name).filter((number) => !headerNames(script.header, name, number));
      expect(missing.map((number) => `${name}[${number}] is not in the header`)).toEqual([]);
    }
    expect(script.header).toMatch(/^-- Repl(y|ies)\b/m);
  });

  it.each(scripts.map((script) => [script.path, script] as const))('%s names each of its replies', (_path, script) => {
    if (script.isShared) return;
    const words = [...script.body.matchAll(/\breturn \{?\s*'([A-Z][A-Z_]+)'/g)].map(([, word]) => word);
    expect(words.filter((word) => !new RegExp(`\\b${word}\\b`).test(script.header))).toEqual([]);
  });

  it.each(scripts.map((script) => [script.path, script] as const))('%s has no unbounded command', (_path, script) => {
    expect(script.body).not.toMatch(/'(KEYS|FLUSHALL|FLUSHDB|SMEMBERS)'/i);
  });
});
