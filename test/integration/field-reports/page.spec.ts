import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readText, ROOT } from '../../unit/house/sources.js';

/** docs/field-reports.md says what it says of tests that exist. A test is written there as: `path` › title. */
const NAMED = /`((?:test|sdk\/test)\/[\w./-]+\.spec\.ts)` › (.+?)(?=<br>| \||$)/gm;

const page = readText('docs/field-reports.md');
const named = [...page.matchAll(NAMED)].map(([, path, title]) => ({ path, title: title.trim() }));

/** Is there a call `it('title', …`, or `describe`, or one of a table of tests? */
function has(path: string, title: string): boolean {
  const escaped = title.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`\\(\\s*(['"\`])${escaped}\\1\\s*,`).test(readText(path));
}

describe('docs/field-reports.md', () => {
  it('names many tests, and none in another form', () => {
    const mentioned = [...page.matchAll(/[\w./-]+\.spec\.ts/g)];
    expect(named.length).toBeGreaterThan(90);
    expect(mentioned.length).toBe(named.length);
  });

  it.each(named)('$path: $title', ({ path, title }) => {
    expect(existsSync(join(ROOT, path))).toBe(true);
    expect(has(path, title)).toBe(true);
  });

  it('speaks of every report once in a table, or of the part that is missing', () => {
    const rows = [...page.matchAll(/^\| (B\d\d) \|/gm)].map(([, id]) => id);
    expect(new Set(rows).size).toBe(rows.length);
    const known = new Set([...page.matchAll(/\bB(\d\d)\b/g)].map(([, number]) => Number(number)));
    for (const [, from, to] of page.matchAll(/\bB(\d\d) to B(\d\d)\b/g)) {
      for (let number = Number(from); number <= Number(to); number += 1) known.add(number);
    }
    expect(known.size).toBe(REPORTS);
  });

  it('finds nothing that is not there', () => {
    expect(has('test/e2e/main-job.spec.ts', 'a title that no test has')).toBe(false);
  });
});

const REPORTS = 54;
