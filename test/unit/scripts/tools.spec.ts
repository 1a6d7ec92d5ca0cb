import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface Files {
  hashOf(root: string, places: string[]): string;
  writeJson(file: string, value: unknown): void;
  readJson(file: string): unknown;
  lastLines(file: string, count: number): string;
  requireRoom(folder: string, neededMb: number): void;
  rotateLog(file: string, maxBytes: number): void;
}
interface Program {
  flavour: string;
  version: string;
  title: string;
  tooOld?: string;
}
interface Programs {
  isAtLeast(version: string, least: string): boolean;
  describeMysql(command: string): Program | undefined;
  describeRedis(command: string): Program | undefined;
}
interface Resp {
  parseReply(buffer: Buffer): { value: unknown; next: number } | undefined;
}
interface Ports {
  isPortFree(port: number): Promise<boolean>;
  choosePort(preferred?: number): Promise<number>;
}
interface JestRuns {
  countReport(report: object | undefined, exitCode: number): { passed: number; failed: number; skipped: number };
}
interface TestRuns {
  chooseWork(words: string[], projects: string[]): { checks: boolean; projects: string[]; args: string[] };
}
const files = jest.requireActual<Files>('../../../scripts/lib/files');
const programs = jest.requireActual<Programs>('../../../scripts/lib/programs');
const { parseReply } = jest.requireActual<Resp>('../../../scripts/lib/resp');
const { isPortFree, choosePort } = jest.requireActual<Ports>('../../../scripts/lib/ports');
const { countReport } = jest.requireActual<JestRuns>('../../../scripts/lib/jest-run');
const { chooseWork } = jest.requireActual<TestRuns>('../../../scripts/lib/test-run');
const { matchesLock } = jest.requireActual<{ matchesLock(root: string): boolean }>('../../../scripts/lib/setup');
const { isSupported } = jest.requireActual<{ isSupported(version: string): boolean }>(
  '../../../scripts/lib/node-version',
);

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'trident-tools-'))));
afterEach(() => rmSync(folder, { recursive: true }));

describe('Node.js versions', () => {
  it.each(['v20.19.0', 'v20.20.2', 'v22.12.0', 'v23.0.0', 'v24.21.0', 'v30.1.0'])('%s is supported', (version) => {
    expect(isSupported(version)).toBe(true);
  });
  it.each(['v12.0.0', 'v18.20.0', 'v20.18.9', 'v21.7.0', 'v22.11.0'])('%s is not', (version) => {
    expect(isSupported(version)).toBe(false);
  });
});

describe('files', () => {
  it('have a hash that follows names and contents, and not the place', () => {
    const root = join(folder, 'a');
    mkdirSync(join(root, 'src'), { recursive: true });
    writeFileSync(join(root, 'src', 'one.ts'), 'one');
    writeFileSync(join(root, 'lock.json'), '{}');
    const places = ['src', 'lock.json', 'not-there'];
    const hashes = [files.hashOf(root, places)];
    cpSync(root, join(folder, 'b'), { recursive: true });
    expect(files.hashOf(join(folder, 'b'), places)).toBe(hashes[0]);
    writeFileSync(join(root, 'src', 'one.ts'), 'two');
    hashes.push(files.hashOf(root, places));
    writeFileSync(join(root, 'src', 'two.ts'), '');
    hashes.push(files.hashOf(root, places));
    rmSync(join(root, 'lock.json'));
    hashes.push(files.hashOf(root, places));
    expect(new Set(hashes).size).toBe(4);
  });

  it('of JSON are written whole, and nothing stays beside them', () => {
    const file = join(folder, 'value.json');
    files.writeJson(file, { a: 1 });
    files.writeJson(file, { a: 2 });
    expect(files.readJson(file)).toEqual({ a: 2 });
    expect(readdirSync(folder)).toEqual(['value.json']);
    writeFileSync(file, '{"a":');
    expect(files.readJson(file)).toBeUndefined();
  });

  it('that grew too large are moved aside', () => {
    const log = join(folder, 'node.log');
    writeFileSync(log, 'one\n\ntwo\nthree\n');
    expect(files.lastLines(log, 2)).toBe('two\nthree');
    files.rotateLog(log, 100);
    expect(readdirSync(folder)).toEqual(['node.log']);
    files.rotateLog(log, 10);
    expect(readdirSync(folder)).toEqual(['node.log.1']);
    expect(readFileSync(`${log}.1`, 'utf8')).toContain('three');
  });

  it('need a folder that can be written and room on its disk', () => {
    writeFileSync(join(folder, 'file'), '');
    expect(() => files.requireRoom(join(folder, 'file', 'data'), 1)).toThrow('Cannot write to');
    expect(() => files.requireRoom(join(folder, 'data'), 1e9)).toThrow('The disk is full');
    files.requireRoom(join(folder, 'data'), 0);
    expect(readdirSync(join(folder, 'data'))).toEqual([]);
  });
});

describe('installed dependencies', () => {
  const locked = {
    '': {},
    'node_modules/a': { version: '1.0.0' },
    'node_modules/b': { version: '2.0.0', optional: true },
  };

  it.each([
    ['nothing', undefined, false],
    ['what the lock says', { 'node_modules/a': { version: '1.0.0' } }, true],
    ['another version', { 'node_modules/a': { version: '1.0.1' } }, false],
    ['something else', { 'node_modules/c': { version: '1.0.0' } }, false],
  ])('%s', (_title, installed, expected) => {
    mkdirSync(join(folder, 'node_modules'));
    files.writeJson(join(folder, 'package-lock.json'), { packages: locked });
    if (installed) files.writeJson(join(folder, 'node_modules', '.package-lock.json'), { packages: installed });
    expect(matchesLock(folder)).toBe(expected);
  });
});

describe('server programs', () => {
  function program(output: string): string {
    const file = join(folder, `server-${readdirSync(folder).length}`);
    writeFileSync(file, `#!/bin/sh\necho '${output}'\n`);
    chmodSync(file, 0o755);
    return file;
  }

  it.each([
    ['mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu', 'mariadb', '10.11.19', false],
    ['mariadbd  Ver 10.6.12-MariaDB for Linux', 'mariadb', '10.6.12', true],
    ['/usr/sbin/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))', 'mysql', '9.7.4', false],
    ['mysqld  Ver 5.7.44 for Linux on x86_64', 'mysql', '5.7.44', true],
  ])('%s', (output, flavour, version, isTooOld) => {
    const found = programs.describeMysql(program(output));
    expect(found).toMatchObject({ flavour, version });
    expect(found?.tooOld !== undefined).toBe(isTooOld);
  });

  it.each([
    ['Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64', 'redis', '7.0.15', false],
    ['Redis server v=6.0.16 sha=00000000:0', 'redis', '6.0.16', true],
    ['Valkey server v=8.1.1 sha=00000000:0', 'valkey', '8.1.1', false],
  ])('%s', (output, flavour, version, isTooOld) => {
    const found = programs.describeRedis(program(output));
    expect(found).toMatchObject({ flavour, version });
    expect(found?.tooOld !== undefined).toBe(isTooOld);
  });

  it('that tell no version are none', () => {
    expect(programs.describeMysql(program('hello'))).toBeUndefined();
    expect(programs.describeRedis(program(''))).toBeUndefined();
  });

  it('are compared by numbers', () => {
    expect(programs.isAtLeast('10.11.2', '10.11')).toBe(true);
    expect(programs.isAtLeast('10.9.9', '10.11')).toBe(false);
    expect(programs.isAtLeast('11.0', '10.11.5')).toBe(true);
  });
});

describe('Redis replies', () => {
  it.each([
    ['+PONG\r\n', 'PONG'],
    [':42\r\n', 42],
    ['$-1\r\n', null],
    ['$5\r\nh\r\nlo\r\n', 'h\r\nlo'],
    ['*2\r\n$1\r\na\r\n*1\r\n:1\r\n', ['a', [1]]],
  ])('%j', (text, value) => {
    expect(parseReply(Buffer.from(text))).toEqual({ value, next: text.length });
    for (let length = 0; length < text.length; length++) {
      expect(parseReply(Buffer.from(text.slice(0, length)))).toBeUndefined();
    }
  });

  it('that are errors say so', () => {
    expect(parseReply(Buffer.from('-ERR no\r\n'))?.value).toEqual(new Error('ERR no'));
  });
});

describe('ports', () => {
  it('are kept when free and left when taken', async () => {
    const kept = await choosePort();
    expect(await choosePort(kept)).toBe(kept);
    const stranger = createServer();
    await new Promise<void>((resolve) => stranger.listen(0, '127.0.0.1', resolve));
    const taken = (stranger.address() as AddressInfo).port;
    expect(await isPortFree(taken)).toBe(false);
    expect(await choosePort(taken)).not.toBe(taken);
    await new Promise((resolve) => stranger.close(resolve));
    expect(await isPortFree(taken)).toBe(true);
  });
});

describe('counting tests', () => {
  const report = {
    numPassedTests: 5,
    numFailedTests: 0,
    numRuntimeErrorTestSuites: 0,
    numPendingTests: 0,
    numTodoTests: 0,
  };

  it.each([
    ['all well', report, 0, { passed: 5, failed: 0, skipped: 0 }],
    ['failed tests', { ...report, numFailedTests: 2 }, 1, { passed: 5, failed: 2, skipped: 0 }],
    ['a file that cannot run', { ...report, numRuntimeErrorTestSuites: 1 }, 1, { passed: 5, failed: 1, skipped: 0 }],
    ['a failure without a failed test', report, 1, { passed: 5, failed: 1, skipped: 0 }],
    ['skipped tests', { ...report, numPendingTests: 1, numTodoTests: 1 }, 0, { passed: 5, failed: 0, skipped: 2 }],
    ['no report', undefined, 0, { passed: 0, failed: 1, skipped: 0 }],
  ])('%s', (_title, given, exitCode, expected) => {
    expect(countReport(given, exitCode)).toEqual(expected);
  });
});

describe('choosing what to test', () => {
  const all = ['unit', 'integration', 'e2e'];

  it.each([
    [[], { checks: true, projects: all, args: [] }],
    [['e2e'], { checks: false, projects: ['e2e'], args: [] }],
    [['e2e', 'unit', '-t', 'sends'], { checks: false, projects: ['unit', 'e2e'], args: ['-t', 'sends'] }],
    [['checks'], { checks: true, projects: [], args: [] }],
    [['-t', 'sends'], { checks: false, projects: all, args: ['-t', 'sends'] }],
  ])('npm test -- %j', (words, expected) => {
    expect(chooseWork(words, all)).toEqual(expected);
  });
});
