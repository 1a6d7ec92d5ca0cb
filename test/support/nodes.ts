import { spawn, type ChildProcess } from 'node:child_process';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { until } from './until.js';

const ROOT = join(__dirname, '..', '..');

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** A start takes a second or two alone, and many times that on a machine that is busy. */
const START_WAIT_MS = 90_000;

/** A real node: `node dist/main.js` in a process of its own, to be killed, frozen and started again. */
export class NodeProcess {
  private child?: ChildProcess;
  private output = '';

  private constructor(
    readonly port: number,
    private readonly environment: Record<string, string>,
  ) {}

  static async start(environment: Record<string, string>): Promise<NodeProcess> {
    const node = new NodeProcess(await freePort(), environment);
    await node.start();
    return node;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** What the process wrote, for a failing test's message. */
  get log(): string {
    return this.output.slice(-20_000);
  }

  get running(): boolean {
    return this.child !== undefined && this.child.exitCode === null && this.child.signalCode === null;
  }

  /** A node that was not started yet. */
  static async idle(environment: Record<string, string>): Promise<NodeProcess> {
    return new NodeProcess(await freePort(), environment);
  }

  /** Starts the process and waits for nothing. */
  launch(): void {
    const child = spawn(process.execPath, [join(ROOT, 'dist', 'main.js')], {
      env: { PATH: process.env.PATH ?? '', ...this.environment, PORT: String(this.port) },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child = child;
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk: Buffer) => (this.output += String(chunk)));
  }

  async start(): Promise<void> {
    this.launch();
    const isReady = async (): Promise<boolean> => {
      if (!this.running) throw new Error(`the node ended while it started: ${this.log}`);
      return (await this.readiness()) === 200;
    };
    await until(`node on port ${this.port} is ready`, isReady, START_WAIT_MS).catch((error: Error) => {
      throw new Error(`${error.message}; it says: ${this.log}`, { cause: error });
    });
  }

  /** Status of the readiness check, null when nothing answers. */
  async readiness(): Promise<number | null> {
    try {
      return (await fetch(`${this.url}/health/ready`, { signal: AbortSignal.timeout(3_000) })).status;
    } catch {
      return null;
    }
  }

  kill(signal: NodeJS.Signals): void {
    this.child?.kill(signal);
  }

  /** @returns exit code, or the signal that ended it */
  async ended(timeoutMs = 40_000): Promise<number | NodeJS.Signals> {
    const child = this.child!;
    return until('the node ends', () => child.exitCode ?? child.signalCode, timeoutMs);
  }

  async stop(): Promise<void> {
    if (!this.running) return;
    this.kill('SIGCONT');
    this.kill('SIGKILL');
    await this.ended();
  }
}
