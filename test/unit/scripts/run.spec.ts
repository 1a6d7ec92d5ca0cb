import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface Runs {
  run(
    command: string,
    args: string[],
    options?: { signal?: AbortSignal; logFile?: string },
  ): Promise<{ code: number; output: string }>;
  runOrExplain(what: string, advice: string, command: string, args: string[]): Promise<string>;
}
interface Errors {
  explain(error: unknown): string;
  UserError: new (message: string) => Error;
}
const { run, runOrExplain } = jest.requireActual<Runs>('../../../scripts/lib/run');
const { startTimeOf } = jest.requireActual<{ startTimeOf(pid: number): string | null }>(
  '../../../scripts/lib/processes',
);
const { explain, UserError } = jest.requireActual<Errors>('../../../scripts/lib/errors');

const node = (script: string): [string, string[]] => [process.execPath, ['-e', script]];

describe('running a command', () => {
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'trident-run-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  it('gives its exit code and both outputs, and logs them', async () => {
    const logFile = join(folder, 'log');
    const script = 'console.log("one"); console.error("two"); process.exitCode = 3';
    const { code, output } = await run(...node(script), { logFile });
    expect(code).toBe(3);
    expect(output.split('\n').sort()).toEqual(['', 'one', 'two']);
    expect(readFileSync(logFile, 'utf8').length).toBe(output.length);
  });

  it('says 127 when there is no such program', async () => {
    expect((await run(join(folder, 'nothing'), [])).code).toBe(127);
  });

  it('ends the command and what it started when it is told to stop', async () => {
    const stop = new AbortController();
    const pidFile = join(folder, 'pid');
    // The inner process is a grandchild that keeps the outer one's output open: only ending the group ends the wait.
    const inner = `require("node:fs").writeFileSync(${JSON.stringify(pidFile)}, String(process.pid)); setInterval(() => {}, 1000)`;
    const outer = `require("node:child_process").spawn(process.execPath, ["-e", ${JSON.stringify(inner)}], { stdio: "inherit" })`;
    const running = run(...node(outer), { signal: stop.signal });
    const pid = await readWhenThere(pidFile);
    stop.abort();
    await expect(running).rejects.toThrow('stopped');
    // It closed its output; the kernel may need a moment more to take it down.
    while (startTimeOf(pid) !== null) await new Promise((resolve) => setTimeout(resolve, 10));
  });

  it('does not start when it was told to stop before', async () => {
    await expect(run('never', [], { signal: AbortSignal.abort() })).rejects.toThrow('stopped');
  });

  it('explains a failure with its last lines', async () => {
    const failing = runOrExplain('The build', 'Look here:', ...node('console.error("bad line 7"); process.exit(2)'));
    await expect(failing).rejects.toThrow('The build failed (exit code 2). Look here:\n    bad line 7');
  });

  it.each(['write: No space left on device', 'npm error ENOSPC', "Can't create file (Errcode: 28)"])(
    'tells a full disk: %s',
    async (words) => {
      const failing = runOrExplain(
        'The build',
        '',
        ...node(`console.error(${JSON.stringify(words)}); process.exit(1)`),
      );
      await expect(failing).rejects.toThrow('The build failed, the disk is full: free some space');
    },
  );
});

describe('explaining an error', () => {
  it.each([
    [new UserError('Port 3000 is in use.'), 'Port 3000 is in use.'],
    [Object.assign(new Error('x'), { code: 'ENOSPC' }), 'The disk is full: free some space'],
    [Object.assign(new Error('x'), { code: 'EACCES', path: '/p' }), 'Cannot write /p (EACCES)'],
    [Object.assign(new Error('x'), { code: 'EROFS', path: '/p' }), 'Cannot write /p (EROFS)'],
    [new TypeError('odd'), 'Unexpected failure: odd'],
  ])('%s', (error, expected) => {
    const line = explain(error);
    expect(line).toContain(expected);
    expect(line).not.toContain('\n');
  });
});

async function readWhenThere(file: string): Promise<number> {
  for (;;) {
    try {
      const pid = Number(readFileSync(file, 'utf8'));
      if (pid > 0) return pid;
    } catch {
      // Not yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
