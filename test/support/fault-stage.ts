import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { Redis } from 'ioredis';
import { createConnection } from 'mysql2';
// eslint-disable-next-line @typescript-eslint/no-require-imports -- plain CommonJS of the launcher
const { startMysql } = require('../../scripts/lib/mysql-server.js') as { startMysql: StartServer };
// eslint-disable-next-line @typescript-eslint/no-require-imports
const { startRedis } = require('../../scripts/lib/redis-server.js') as { startRedis: StartServer };
import { asTenantId, asUserId } from '../../src/platform/ids/ids.js';
import { directTopic } from '../../src/platform/ids/topic.js';
import { RedisKeys } from '../../src/platform/redis/keys.js';
import { databaseAt } from './environment.js';
import { Member } from './load.js';
import type { NodeProcess } from './nodes.js';
import { Stage, type TestUser } from './stage.js';
import { until } from './until.js';
import { Wire } from './wire.js';

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

/** The long variants of the faults; `npm test` shortens them. */
export const FULL_LENGTH = process.env.FAULTS_FULL === '1';

/** Not database 0, so that a command that is sent again after a reconnect and lands there does not go unseen. */
export const REDIS_DATABASE = 1;
const redisUrl = (port: number): string => `redis://127.0.0.1:${port}/${REDIS_DATABASE}`;

const ACCOUNTS = ['alice', 'bob', 'carol', 'dave'];

/** Redis keys of a topic that can be lost alone. */
export type TopicKey = 'topicLastSeq' | 'topicInflight' | 'topicInflightDeadline' | 'topicHot' | 'topicHotMeta';

/** Two nodes, their own Redis and MySQL, one group whose members send and follow it all the time. */
export class FaultStage {
  readonly members: Member[] = [];
  nodes: NodeProcess[] = [];
  topic = '';
  users: TestUser[] = [];
  /** To look at what Redis holds and to harm it; comes back by itself after a restart. */
  readonly redisClient: Redis;
  tenant = '';
  private sending = false;
  private senders: Promise<void>[] = [];
  private counter = 0;
  private readonly earlier: Member[] = [];

  private constructor(
    readonly folder: string,
    readonly mysql: PrivateServer,
    readonly redis: PrivateServer,
    /** Between the first node and Redis. */
    readonly wire: Wire,
    readonly stage: Stage,
  ) {
    this.redisClient = new Redis(redisUrl(redis.server.port), { maxRetriesPerRequest: null });
    this.redisClient.on('error', () => undefined);
  }

  static async open(settings: Record<string, string> = {}): Promise<FaultStage> {
    const folder = mkdtempSync(join(tmpdir(), 'tf-'));
    // One after the other: a MySQL that does not start leaves no Redis behind.
    const mysql = await PrivateServer.mysql(folder);
    const redis = await PrivateServer.redis(folder);
    const wire = await Wire.open(redis.server.port);
    const stage = await Stage.open(settings, { mysql: mysql.url, redis: redisUrl(redis.server.port) });
    const faults = new FaultStage(folder, mysql, redis, wire, stage);
    faults.tenant = await stage.tenant('demo', ACCOUNTS);
    faults.nodes = await Promise.all([stage.process({ REDIS_URL: redisUrl(wire.port) }), stage.process()]);
    faults.users = await Promise.all(ACCOUNTS.map((account) => stage.login(faults.nodes[0], 'demo', account)));
    return faults;
  }

  /** A new group and members that follow it, alternately on the two nodes. */
  async gather(count = 4): Promise<void> {
    this.sending = false;
    this.earlier.push(...this.members.splice(0));
    for (const member of this.earlier) member.stop();
    this.topic = await this.stage.group(this.nodes[0], this.users[0], this.users.slice(1));
    for (let index = 0; index < count; index += 1) await this.join(index);
  }

  /** A private chat of two new users instead, each with a device on either node. */
  async gatherDirect(): Promise<void> {
    this.sending = false;
    this.earlier.push(...this.members.splice(0));
    for (const member of this.earlier) member.stop();
    this.counter += 1;
    const names = [`left-${this.counter}`, `right-${this.counter}`];
    await this.stage.addUsers('demo', names);
    // After a fault a log-in is refused until Redis is trusted again.
    const login = (name: string): Promise<TestUser | null> =>
      this.stage.login(this.nodes[0], 'demo', name).catch(() => null);
    const pair = await Promise.all(names.map((name) => until(`${name} logs in`, () => login(name), 20_000)));
    this.topic = directTopic(asUserId(pair[0].uid), asUserId(pair[1].uid));
    for (const [index, user] of [...pair, pair[1], pair[0]].entries()) {
      const member = new Member(() => this.nodes, user, this.topic, index);
      await member.connect();
      this.members.push(member);
    }
  }

  /** One more device that follows the group and knows nothing yet. */
  async join(index: number, topic = this.topic): Promise<Member> {
    const member = new Member(() => this.nodes, this.users[index % this.users.length], topic, index);
    await member.connect();
    if (topic === this.topic) this.members.push(member);
    else this.earlier.push(member);
    return member;
  }

  /** Every member sends one message after the other until `stopLoad`. */
  startLoad(lanes = 4): void {
    this.sending = true;
    this.senders = this.members.flatMap((member) =>
      Array.from({ length: lanes }, async () => {
        while (this.sending && !member.isStopped) await member.send(this.nextId(), `message ${this.counter}`);
      }),
    );
  }

  /** Lets every message that is under way get its acknowledgement. */
  async stopLoad(): Promise<void> {
    this.sending = false;
    await Promise.all(this.senders);
  }

  /** A client id that no other message has. */
  nextId(): string {
    this.counter += 1;
    return `load-${this.counter}`;
  }

  get acknowledged(): number {
    return this.members.reduce((sum, member) => sum + member.acknowledged.length, 0);
  }

  /** Waits until the group's load has got further; a generous bound tells a standstill from a slow machine. */
  async moreAcks(count: number, timeoutMs = 60_000): Promise<void> {
    const before = this.acknowledged;
    await until(`${count} more sends are acknowledged`, () => this.acknowledged >= before + count, timeoutMs);
  }

  /** Waits until every member was acknowledged something more. */
  async everyoneSends(timeoutMs = 60_000): Promise<void> {
    const before = this.members.map((member) => member.acknowledged.length);
    const all = (): boolean => this.members.every((member, index) => member.acknowledged.length > before[index]);
    await until('every member is acknowledged a send', all, timeoutMs);
  }

  /** The epoch that MySQL knows for the group. */
  async epoch(): Promise<number> {
    const sql = 'SELECT epoch FROM im_topic_seq WHERE topic = ?';
    return Number((await this.stage.sql<{ epoch: string }>('demo', sql, [this.topic]))[0].epoch);
  }

  /** Numbers of the group that were given out and are not settled. */
  inFlight(topic = this.topic): Promise<number> {
    return this.redisClient.zcard(this.key('topicInflight', topic));
  }

  /** Holds the group's appends up before their fence while `work` runs, at most for the lock wait of 1 s each. */
  holdAppends(work: () => Promise<void>): Promise<void> {
    return this.hold('SELECT epoch FROM im_topic_seq WHERE topic = ? FOR UPDATE', [this.topic], work);
  }

  /** Holds a change of one message up before its decision while `work` runs. */
  holdMessage(seq: number, work: () => Promise<void>): Promise<void> {
    const sql = 'SELECT id FROM im_group_messages WHERE topic = ? AND seqid = ? FOR UPDATE';
    return this.hold(sql, [this.topic, seq], work);
  }

  /** Name of a Redis key of the group. */
  key(family: TopicKey, topic = this.topic): string {
    const keys = new RedisKeys({ REDIS_KEY_PREFIX: this.stage.name });
    return keys.of(family, { t: asTenantId(this.tenant), topic });
  }

  /** Numbers of the Redis databases that hold anything. */
  async usedDatabases(): Promise<number[]> {
    const keyspace = await this.redisClient.info('keyspace');
    return [...keyspace.matchAll(/^db(\d+):/gm)].map(([, number]) => Number(number));
  }

  /** A figure of one node's `/metrics`, summed over its labels. */
  async metric(node: NodeProcess, name: string, labels = ''): Promise<number> {
    const text = await (await fetch(`${node.url}/metrics`, { signal: AbortSignal.timeout(5_000) })).text();
    const lines = text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
    return lines
      .filter((line) => line.includes(labels))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
  }

  private async hold(sql: string, values: unknown[], work: () => Promise<void>): Promise<void> {
    const { host, port, user, password, database } = databaseAt(this.stage.servers, `${this.stage.name}_demo`);
    const connection = createConnection({ host, port, user, password, database });
    try {
      await connection.promise().query('BEGIN');
      await connection.promise().query(sql, values);
      await work();
      await connection.promise().query('ROLLBACK');
    } finally {
      connection.destroy();
    }
  }

  async close(): Promise<void> {
    this.sending = false;
    for (const member of [...this.members, ...this.earlier]) member.stop();
    await this.stage.close();
    this.redisClient.disconnect();
    await this.wire.close();
    for (const server of [this.redis, this.mysql]) {
      await server.kill().catch(() => undefined);
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}
