import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface Identity {
  pid: number;
  startTime: string | null;
  commandLine: string | null;
}
interface Processes {
  identify(pid: number): Identity;
  stillLives(identity: Identity | undefined): boolean;
  ProcessRecords: new (
    folder: string,
    root: string,
  ) => { add(name: string, pid: number): void; endLeftovers(graceMs?: number): Promise<string[]> };
}
interface Locks {
  RunLock: new (file: string) => {
    take(options: { noticeMs?: number; stoppingMs?: number; onWait?: () => void }): Promise<number | undefined>;
    release(): void;
  };
}
const { identify, stillLives, ProcessRecords } = jest.requireActual<Processes>('../../../scripts/lib/processes');
const { RunLock } = jest.requireActual<Locks>('../../../scripts/lib/lock');

const sleeper = 'process.on("SIGTERM", () => process.exit(7)); setInterval(() => {}, 1000); console.log("up")';

let folder: string;
const children: ChildProcess[] = [];

beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'trident-processes-'))));
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});

/** A process that runs until it gets SIGTERM, and then ends with code 7. */
async function startSleeper(): Promise<{ pid: number; ended: Promise<number | null> }> {
  const child = spawn(process.execPath, ['-e', sleeper], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
  children.push(child);
  await new Promise((resolve) => child.stdout.once('data', resolve));
  return { pid: child.pid ?? 0, ended: new Promise((resolve) => child.once('exit', (code) => resolve(code))) };
}

describe('the identity of a process', () => {
  it('holds while the process lives and no longer', async () => {
    const { pid, ended } = await startSleeper();
    const identity = identify(pid);
    expect(stillLives(identity)).toBe(true);
    process.kill(pid, 'SIGTERM');
    await ended;
    expect(stillLives(identity)).toBe(false);
  });

  it('is not that of another process with the same pid', () => {
    const own = identify(process.pid);
    expect(stillLives(own)).toBe(true);
    expect(stillLives({ ...own, startTime: '1' })).toBe(false);
    expect(stillLives({ ...own, commandLine: 'another program' })).toBe(false);
    expect(stillLives(undefined)).toBe(false);
  });
});

describe('records of processes', () => {
  it('let a later run end what was left, and are forgotten then', async () => {
    const { pid, ended } = await startSleeper();
    const records = new ProcessRecords(join(folder, 'records'), folder);
    records.add('node-0', pid);
    expect(await new ProcessRecords(join(folder, 'records'), folder).endLeftovers()).toEqual(['node-0']);
    expect(await ended).toBe(7);
    expect(existsSync(join(folder, 'records'))).toBe(false);
  });

  it('never end a process that is not provably ours', async () => {
    const { pid } = await startSleeper();
    const identity = identify(pid);
    new ProcessRecords(join(folder, 'records'), '/another/folder').add('copied', pid);
    const write = (name: string, record: object): void =>
      writeFileSync(join(folder, 'records', `${name}.json`), JSON.stringify(record));
    write('other-time', { root: folder, ...identity, startTime: '1' });
    write('other-program', { root: folder, ...identity, commandLine: 'sleep 5' });
    write('no-record', {});
    writeFileSync(join(folder, 'records', 'half.json'), '{"pid":');
    expect(await new ProcessRecords(join(folder, 'records'), folder).endLeftovers()).toEqual([]);
    expect(stillLives(identity)).toBe(true);
  });
});

describe('the lock of a run', () => {
  it('is refused with the pid of a living holder', async () => {
    const file = join(folder, 'lock.json');
    const { pid } = await startSleeper();
    writeFileSync(file, JSON.stringify(identify(pid)));
    expect(await new RunLock(file).take({ noticeMs: 0 })).toBe(pid);
  });

  it('is taken over from a dead holder, and by one run only', async () => {
    const file = join(folder, 'lock.json');
    writeFileSync(file, JSON.stringify({ ...identify(process.pid), startTime: '1' }));
    const locks = [new RunLock(file), new RunLock(file)];
    const results = await Promise.all(locks.map((lock) => lock.take({ noticeMs: 0 })));
    expect(results.sort()).toEqual([process.pid, undefined]);
  });

  it('waits for a holder that is stopping', async () => {
    const file = join(folder, 'lock.json');
    const { pid } = await startSleeper();
    writeFileSync(file, JSON.stringify({ ...identify(pid), stopping: true }));
    const onWait = jest.fn(() => process.kill(pid, 'SIGTERM'));
    expect(await new RunLock(file).take({ noticeMs: 0, onWait })).toBeUndefined();
    expect(onWait).toHaveBeenCalledTimes(1);
  });

  it('is free after its release', async () => {
    const lock = new RunLock(join(folder, 'lock.json'));
    await lock.take({});
    lock.release();
    expect(await new RunLock(join(folder, 'lock.json')).take({ noticeMs: 0 })).toBeUndefined();
  });
});
