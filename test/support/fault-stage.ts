import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
// eslint-disable-next-line @typescript-eslint/no-require-imports -- plain CommonJS of the launcher
const { startMysql } = require('../../scripts/lib/mysql-server.js') as { startMysql: StartServer };
// eslint-disable-next-line @typescript-eslint/no-require-imports
const { startRedis } = require('../../scripts/lib/redis-server.js') as { startRedis: StartServer };
import { Member } from './load.js';
import type { NodeProcess } from './nodes.js';
import { Stage, type TestUser } from './stage.js';

interface Server {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly exited: Promise<string>;
  kill(signal?: NodeJS.Signals): void;
  stop(): Promise<void>;
}

type StartServer = (options: {
  dir: string;
  port?: number;
  appendonly?: boolean;
  extraArgs?: string[];
  extraConfig?: string[];
}) => Promise<Server>;

/** Servers of its own, that can be killed, frozen and started again on the same port and data. */
export class PrivateServer {
  private constructor(
    private readonly startAgain: (port?: number) => Promise<Server>,
    public server: Server,
  ) {}

  static async mysql(folder: string): Promise<PrivateServer> {
    const start = (port?: number): Promise<Server> => startMysql({ dir: join(folder, 'mysql'), port });
    return new PrivateServer(start, await start());
  }

  static async redis(folder: string): Promise<PrivateServer> {
    const start = (port?: number): Promise<Server> =>
      startRedis({ dir: join(folder, 'redis'), port, extraConfig: ['enable-debug-command local'] });
    return new PrivateServer(start, await start());
  }

  get url(): string {
    return this.server.url;
  }

  signal(signal: NodeJS.Signals): void {
    process.kill(this.server.pid, signal);
  }

  async kill(): Promise<void> {
    this.server.kill('SIGKILL');
    await this.server.exited;
  }

  async start(): Promise<void> {
    this.server = await this.startAgain(this.server.port);
  }
}

/** Two nodes, their own Redis and MySQL, one group whose members send and follow it all the time. */
export class FaultStage {
  readonly members: Member[] = [];
  nodes: NodeProcess[] = [];
  topic = '';
  users: TestUser[] = [];
  private sending = false;
  private senders: Promise<void>[] = [];
  private counter = 0;

  private constructor(
    readonly folder: string,
    readonly mysql: PrivateServer,
    readonly redis: PrivateServer,
    readonly stage: Stage,
  ) {}

  static async open(settings: Record<string, string> = {}): Promise<FaultStage> {
    const folder = mkdtempSync(join(tmpdir(), 'tf-'));
    const [mysql, redis] = await Promise.all([PrivateServer.mysql(folder), PrivateServer.redis(folder)]);
    const stage = await Stage.open(settings, { mysql: mysql.url, redis: redis.url });
    const faults = new FaultStage(folder, mysql, redis, stage);
    await stage.tenant('demo', ['alice', 'bob', 'carol', 'dave']);
    faults.nodes = await Promise.all([stage.process(), stage.process()]);
    faults.users = await Promise.all(
      ['alice', 'bob', 'carol', 'dave'].map((account) => stage.login(faults.nodes[0], 'demo', account)),
    );
    return faults;
  }

  /** A new group and members that follow it, alternately on the two nodes. */
  async gather(count = 4): Promise<void> {
    for (const member of this.members.splice(0)) member.stop();
    this.topic = await this.stage.group(this.nodes[0], this.users[0], this.users.slice(1));
    for (let index = 0; index < count; index += 1) {
      const member = new Member(() => this.nodes, this.users[index % this.users.length], this.topic, index);
      await member.connect();
      this.members.push(member);
    }
  }

  /** Every member sends one message after the other until `stopLoad`. */
  startLoad(lanes = 4): void {
    this.sending = true;
    this.senders = this.members.flatMap((member) =>
      Array.from({ length: lanes }, async () => {
        while (this.sending) {
          this.counter += 1;
          await member.send(`load-${this.counter}`, `message ${this.counter}`);
        }
      }),
    );
  }

  /** Lets every message that is under way get its acknowledgement. */
  async stopLoad(): Promise<void> {
    this.sending = false;
    await Promise.all(this.senders);
  }

  get acknowledged(): number {
    return this.members.reduce((sum, member) => sum + member.acknowledged.length, 0);
  }

  async close(): Promise<void> {
    this.sending = false;
    for (const member of this.members) member.stop();
    await this.stage.close();
    for (const server of [this.redis, this.mysql]) {
      await server.kill().catch(() => undefined);
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}
