import { type ChildProcess, spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { type Server, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { createConnection } from 'mysql2/promise';

// The real launcher in a copied folder, with servers of its own and a stand-in for the built application.

interface NodeInfo {
  pid: number;
  port: number;
  nodeId: string;
}
interface Services {
  mysql: { host: string; port: number; user: string; password: string; pid: number };
  redis: { host: string; port: number; pid: number };
}
interface Launcher {
  process: ChildProcess;
  /** Everything it printed so far, both streams. */
  output: () => string;
  /** Its exit code; null when a signal ended it. */
  ended: Promise<number | null>;
}

const buildProgram = `
const fs = require('node:fs');
const needed = ['MYSQL_URL', 'REDIS_URL', 'JWT_SECRET', 'SECRETS_KEY', 'PHONE_HASH_KEY', 'ADMIN_TOKEN'];
const check = 'for (const name of ' + JSON.stringify(needed) + ') if (!process.env[name]) throw new Error(name + " is missing");'
  + 'if (new URL(process.env.MYSQL_URL).pathname !== "/im_control") throw new Error("wrong database");';
fs.mkdirSync('dist/cli', { recursive: true });
fs.writeFileSync('dist/cli/tenant.js', check + 'if (process.argv[2] !== "migrate") throw new Error("not migrate");'
  + 'if (require("node:fs").existsSync("refuse-to-migrate")) throw new Error("table is broken");');
fs.writeFileSync('dist/cli/demo.js', check);
fs.writeFileSync('dist/main.js', check + 'const nodeId = "stub-" + process.pid;'
  + 'const server = require("node:http").createServer((request, response) => response.end(JSON.stringify({ nodeId })));'
  + 'server.listen(Number(process.env.PORT)); process.on("SIGTERM", () => server.close(() => process.exit(0)));');
`;

const folder = mkdtempSync(join(tmpdir(), 'trident-launcher-'));
const started: Launcher[] = [];
const seenPids = new Set<number>();
let firstPort = 0;

jest.setTimeout(60_000);

beforeAll(async () => {
  cpSync(join(__dirname, '../../scripts'), join(folder, 'scripts'), { recursive: true });
  mkdirSync(join(folder, 'src'));
  writeFileSync(join(folder, 'src', 'main.ts'), '// built by build.js');
  writeFileSync(join(folder, 'build.js'), buildProgram);
  const name = { name: 'stub', version: '1.0.0' };
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...name, scripts: { build: 'node build.js' } }));
  writeFileSync(
    join(folder, 'package-lock.json'),
    JSON.stringify({ ...name, lockfileVersion: 3, requires: true, packages: { '': name } }),
  );
  firstPort = await twoFreePorts();
});

afterAll(async () => {
  for (const launcher of started) launcher.process.kill('SIGKILL');
  for (const pid of seenPids) signal(pid, 'SIGKILL');
  await waitFor('all processes to be gone', () => [...seenPids].every((pid) => !isAlive(pid)));
  rmSync(folder, { recursive: true, force: true });
});

describe('npm start', () => {
  let launcher: Launcher;
  let redis: Redis;

  afterAll(() => {
    if (redis && redis.status !== 'end') redis.disconnect();
  });

  it('sets everything up, starts two nodes and tells where they are', async () => {
    launcher = startLauncher();
    await waitForReady(launcher);
    for (const index of [0, 1]) {
      const node = nodeInfo(index);
      expect(node.pid).toBeGreaterThan(1);
      expect(node).toEqual({ pid: node.pid, port: firstPort + index, nodeId: `stub-${node.pid}` });
      const answer = await fetch(`http://127.0.0.1:${node.port}/health/live`, { headers: { connection: 'close' } });
      expect(await answer.json()).toEqual({ nodeId: node.nodeId });
      expect(launcher.output()).toContain(`http://127.0.0.1:${node.port}`);
    }
    expect(statSync(join(folder, '.data/secrets.json')).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, '.data/run/services.json')).mode & 0o777).toBe(0o600);
    await writeToMysql('first');
    redis = new Redis(services().redis.port, '127.0.0.1');
    redis.on('error', () => undefined);
    await redis.set('kept', 'first');
  });

  it('refuses a second launcher of the same folder in one line', async () => {
    const second = startLauncher();
    expect(await second.ended).toBe(1);
    const lines = second.output().trim().split('\n');
    expect(lines).toEqual([expect.stringContaining(`already runs from this folder (pid ${launcher.process.pid})`)]);
  });

  it.each(['SIGKILL', 'SIGTERM'] as const)('starts a node again after %s from outside', async (signalName) => {
    const before = nodeInfo(1);
    const other = nodeInfo(0);
    signal(before.pid, signalName);
    await waitFor('a new node', () => hasFile('node-1.json') && nodeInfo(1).pid !== before.pid);
    const after = nodeInfo(1);
    expect(after).toEqual({ pid: after.pid, port: before.port, nodeId: `stub-${after.pid}` });
    expect(
      (await fetch(`http://127.0.0.1:${after.port}/health/ready`, { headers: { connection: 'close' } })).status,
    ).toBe(200);
    expect(isAlive(before.pid)).toBe(false);
    expect(nodeInfo(0)).toEqual(other);
  });

  it('starts Redis and MySQL again on their ports with their data after SIGKILL', async () => {
    const before = services();
    signal(before.redis.pid, 'SIGKILL');
    signal(before.mysql.pid, 'SIGKILL');
    await waitFor('new servers', () => {
      const now = services();
      return now.redis.pid !== before.redis.pid && now.mysql.pid !== before.mysql.pid;
    });
    const after = services();
    expect(after.redis).toEqual({ ...before.redis, pid: after.redis.pid });
    expect(after.mysql).toEqual({ ...before.mysql, pid: after.mysql.pid });
    expect(await redis.get('kept')).toBe('first');
    expect(await readFromMysql()).toEqual(['first']);
    redis.disconnect();
  });

  it('ends everything on SIGTERM, also when the signal comes twice', async () => {
    rememberPids();
    launcher.process.kill('SIGTERM');
    launcher.process.kill('SIGINT');
    expect(await launcher.ended).toBe(0);
    expect([...seenPids].filter(isAlive)).toEqual([]);
    expect(readdirSync(join(folder, '.data/run'), { withFileTypes: true }).filter((entry) => entry.isFile())).toEqual(
      [],
    );
  });

  it('ends what a killed launcher left behind and goes on with the data', async () => {
    const killed = startLauncher();
    await waitForReady(killed);
    const left = [nodeInfo(0).pid, nodeInfo(1).pid, services().mysql.pid, services().redis.pid];
    await writeToMysql('second');
    killed.process.kill('SIGKILL');
    await killed.ended;
    expect(left.filter(isAlive)).toEqual(left);

    const next = startLauncher();
    await waitForReady(next);
    expect(left.filter(isAlive)).toEqual([]);
    expect(next.output()).toContain('Ended what an earlier run left behind');
    expect(next.output()).not.toContain('Installing');
    expect(next.output()).not.toContain('Building');
    expect(await readFromMysql()).toEqual(['first', 'second']);
    await stop(next);
  });

  it('ends in order when told to while it is still starting', async () => {
    const early = startLauncher();
    await waitFor('the first server', () => early.output().includes('runs on 127.0.0.1'));
    rememberPids();
    early.process.kill('SIGINT');
    expect(await early.ended).toBe(0);
    expect([...seenPids].filter(isAlive)).toEqual([]);
  });

  it('says in one line that a port is taken, before it starts anything', async () => {
    const stranger = await listen(firstPort + 1);
    const refused = startLauncher();
    expect(await refused.ended).toBe(1);
    await new Promise((resolve) => stranger.close(resolve));
    expect(refused.output().trim().split('\n')).toEqual([expect.stringContaining(`Port ${firstPort + 1} is in use`)]);
  });

  it('shows why the migration failed and leaves no process', async () => {
    writeFileSync(join(folder, 'refuse-to-migrate'), '');
    const failing = startLauncher();
    await waitFor('the servers', () => failing.output().includes('Migrating'));
    rememberPids();
    expect(await failing.ended).toBe(1);
    rmSync(join(folder, 'refuse-to-migrate'));
    expect(failing.output()).toContain('migrating the databases failed');
    expect(failing.output()).toContain('table is broken');
    expect([...seenPids].filter(isAlive)).toEqual([]);
  });
});

function startLauncher(): Launcher {
  const { MYSQL_URL: _mysql, REDIS_URL: _redis, NODE_COUNT: _count, ...rest } = process.env;
  const env = Object.fromEntries(Object.entries(rest).filter(([name]) => !name.startsWith('npm_')));
  const child = spawn(process.execPath, ['scripts/start.js'], {
    cwd: folder,
    env: { ...env, PORT: String(firstPort) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const ended = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)));
  const launcher = { process: child, output: () => text, ended };
  started.push(launcher);
  return launcher;
}

async function waitForReady(launcher: Launcher): Promise<void> {
  let hasEnded = false;
  void launcher.ended.then(() => (hasEnded = true));
  await waitFor('the launcher to be ready', () => {
    if (hasEnded) throw new Error(`the launcher ended:\n${launcher.output()}`);
    return launcher.output().includes('Trident IM is ready.');
  });
  rememberPids();
}

async function stop(launcher: Launcher): Promise<void> {
  rememberPids();
  launcher.process.kill('SIGTERM');
  expect(await launcher.ended).toBe(0);
  expect([...seenPids].filter(isAlive)).toEqual([]);
}

/** Takes down every process that the launcher has on record, to look after them later. */
function rememberPids(): void {
  const records = join(folder, '.data/run/processes');
  for (const name of existsSync(records) ? readdirSync(records) : []) {
    const { pid } = readRun<{ pid?: number }>(`processes/${name}`) ?? {};
    if (pid) seenPids.add(pid);
  }
}

function readRun<T>(name: string): T | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, '.data/run', name), 'utf8')) as T;
  } catch {
    return undefined;
  }
}

const hasFile = (name: string): boolean => existsSync(join(folder, '.data/run', name));

function nodeInfo(index: number): NodeInfo {
  return JSON.parse(readFileSync(join(folder, `.data/run/node-${index}.json`), 'utf8')) as NodeInfo;
}

function services(): Services {
  return JSON.parse(readFileSync(join(folder, '.data/run/services.json'), 'utf8')) as Services;
}

async function connectMysql(): Promise<Awaited<ReturnType<typeof createConnection>>> {
  const { host, port, user, password } = services().mysql;
  return createConnection({ host, port, user, password });
}

async function writeToMysql(word: string): Promise<void> {
  const connection = await connectMysql();
  await connection.query('CREATE DATABASE IF NOT EXISTS kept');
  await connection.query('CREATE TABLE IF NOT EXISTS kept.words (id INT AUTO_INCREMENT PRIMARY KEY, word TEXT)');
  await connection.query('INSERT INTO kept.words (word) VALUES (?)', [word]);
  await connection.end();
}

async function readFromMysql(): Promise<string[]> {
  const connection = await connectMysql();
  const [rows] = await connection.query('SELECT word FROM kept.words ORDER BY id');
  await connection.end();
  return (rows as { word: string }[]).map(({ word }) => word);
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended already.
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  // A zombie whose parent was killed still has a pid until somebody collects it.
  if (process.platform !== 'linux') return true;
  return existsSync(`/proc/${pid}/stat`) && !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
}

async function waitFor(what: string, condition: () => boolean, timeoutMs = 30_000): Promise<void> {
  const deadlineMs = Date.now() + timeoutMs;
  while (!condition()) {
    if (Date.now() > deadlineMs) throw new Error(`waited ${timeoutMs} ms for ${what}; ${started.at(-1)?.output()}`);
    await sleep(25);
  }
}

function listen(port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(port, () => resolve(server));
  });
}

/** A port that is free together with the next one, below those that the kernel gives to outgoing connections. */
async function twoFreePorts(): Promise<number> {
  for (;;) {
    const port = 12_000 + 2 * Math.floor(Math.random() * 3_000);
    try {
      for (const server of [await listen(port), await listen(port + 1)]) server.close();
      return port;
    } catch {
      // Taken: try another.
    }
  }
}
