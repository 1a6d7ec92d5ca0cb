import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { filesBelow, readText, ROOT, type SourceFile } from './sources.js';

const pages: SourceFile[] = [
  ...['README.md', 'README.zh-CN.md', 'CHANGELOG.md'].map((path) => ({ path, text: readText(path) })),
  ...filesBelow('docs', '.md'),
];
const readmes = pages.filter(({ path }) => path.startsWith('README'));
const scripts = (JSON.parse(readText('package.json')) as { scripts: Record<string, string> }).scripts;

const codeOf = (text: string): string =>
  [...text.matchAll(/```\w*\n([\s\S]*?)```|`([^`\n]+)`/g)].map(([, block, inline]) => block ?? inline).join('\n');

describe('documentation', () => {
  it.each(pages)('$path links only to what exists', ({ path, text }) => {
    const targets = [...text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map(([, target]) => target);
    expect(targets.filter((target) => !existsSync(join(ROOT, dirname(path), target)))).toEqual([]);
  });

  it.each(pages)('$path names only commands that exist', ({ text }) => {
    const named = [...codeOf(text).matchAll(/\bnpm (?:run )?([a-z:]+)/g)].map(([, name]) => name);
    const ofNpm = ['ci', 'install', 'i'];
    expect(named.filter((name) => scripts[name] === undefined && !ofNpm.includes(name))).toEqual([]);
    const programs = [...codeOf(text).matchAll(/\bnode ([\w./-]+\.js)\b/g)].map(([, program]) => program);
    const made = programs.filter((program) => !program.startsWith('dist/') && !existsSync(join(ROOT, program)));
    // The client example is the reader's own file.
    expect(made.filter((program) => program !== 'hello.js')).toEqual([]);
  });

  it.each(readmes)('$path names files that exist', ({ text }) => {
    const paths = [...text.matchAll(/`((?:src|docs|scripts|test|docker|bench|sdk)\/[\w./-]*)`/g)].map(
      ([, path]) => path,
    );
    expect(paths.length).toBeGreaterThan(5);
    expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it('both READMEs name the same commands and files', () => {
    const facts = (text: string): string[] => [
      ...new Set(
        [...text.matchAll(/`((?:src|docs|scripts|test|docker|bench|sdk)\/[^`]*|npm [^`]*)`/g)].map((m) => m[1]),
      ),
    ];
    expect(facts(readText('README.zh-CN.md')).sort()).toEqual(facts(readText('README.md')).sort());
  });

  it('every decision that the code refers to is written down', () => {
    const written = readdirSync(join(ROOT, 'docs/adr')).map((name) => name.slice(0, 4));
    const texts = [...filesBelow('src', '.ts'), ...filesBelow('src', '.lua'), ...filesBelow('test', '.ts'), ...pages];
    const missing = texts.flatMap(({ path, text }) =>
      [...text.matchAll(/\badr\/(\d{4})/g)]
        .filter(([, number]) => !written.includes(number))
        .map(([reference]) => `${path}: ${reference}`),
    );
    expect(missing).toEqual([]);
  });

  it('every page that the code refers to exists', () => {
    const texts = [...filesBelow('src', '.ts'), ...filesBelow('src', '.lua'), ...filesBelow('scripts', '.js')];
    const missing = texts.flatMap(({ path, text }) =>
      [...text.matchAll(/\bdocs\/[\w-]+\.md\b/g)]
        .filter(([page]) => !existsSync(join(ROOT, page)))
        .map(([page]) => `${path}: ${page}`),
    );
    expect(missing).toEqual([]);
  });
});
