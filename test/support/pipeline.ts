import type { Redis } from 'ioredis';
import { Registry } from 'prom-client';
import { AdmissionService } from '../../src/modules/group-message/admission.service.js';
import { BatchWriter } from '../../src/modules/group-message/batch-writer.js';
import { GroupMessageRedis } from '../../src/modules/group-message/group-message.redis.js';
import { GroupMessageStore } from '../../src/modules/group-message/group-message.store.js';
import type { MessageDraft, MessagesFrame } from '../../src/modules/group-message/group-message.types.js';
import { HeadService } from '../../src/modules/group-message/head.service.js';
import { HistoryService } from '../../src/modules/group-message/history.service.js';
import { RebaseService } from '../../src/modules/group-message/rebase.service.js';
import { SendService } from '../../src/modules/group-message/send.service.js';
import { TombstoneService } from '../../src/modules/group-message/tombstone.service.js';
import { GroupService } from '../../src/modules/group/group.service.js';
import { TopicService } from '../../src/modules/topic/topic.service.js';
import { ENV, loadEnv, type Env } from '../../src/platform/env/env.js';
import { asTenantId, asTopic, asUserId, type Actor, type Topic, type UserId } from '../../src/platform/ids/ids.js';
import type { ConnectionInfo } from '../../src/platform/mysql/connection-info.js';
import { migrateDatabase } from '../../src/platform/mysql/migrate.js';
import { queryOnce } from '../../src/platform/mysql/query-once.js';
import { TenantConnections, TenantDataSources } from '../../src/platform/mysql/tenant-data-sources.js';
import { Logger } from '../../src/platform/observe/logger.js';
import { Metrics } from '../../src/platform/observe/metrics.js';
import { RedisKeys } from '../../src/platform/redis/keys.js';
import { RedisScripts } from '../../src/platform/redis/redis-scripts.js';
import { createRedisClient, RedisClients } from '../../src/platform/redis/redis-clients.js';
import { SocketServer } from '../../src/platform/socket/socket-server.js';
import { schemas } from '../../src/schema.js';
import { Container } from './pipeline-container.js';
import { databaseAt, freshName, givenServers, nodeEnvironment } from './environment.js';
import { hookedDatabases, HookedScripts, type Hooks } from './pipeline-hooks.js';

export const TENANT = asTenantId('7');
const SQL_TIMEOUT_MS = 5_000;

class FixedConnections extends TenantConnections {
  constructor(private readonly info: ConnectionInfo) {
    super();
  }

  connectionOf(): ConnectionInfo {
    return this.info;
  }
}

/** Where a node's connections come from; they outlive the node, as a machine does its processes. */
export interface Machine {
  readonly clients: RedisClients;
  readonly databases: TenantDataSources;
}

/** One node's message pipeline, without the wire: the product's own services on real servers. */
export class PipelineNode {
  /** What a test puts around scripts and statements. */
  readonly hooks: Hooks = {};
  /** What was told in realtime, in order. */
  readonly frames: MessagesFrame[] = [];
  /** Everything that was told, frames of messages among it. */
  readonly told: { readonly event: string; readonly payload: unknown }[] = [];
  private readonly container: Container;

  constructor(
    env: Env,
    readonly machine: Machine,
  ) {
    const { hooks, frames, told } = this;
    const container = new Container();
    const emit = (_room: string, event: string, payload: object): void => {
      // As the wire carries it, whatever it was made from.
      const frame = JSON.parse(JSON.stringify(payload)) as MessagesFrame;
      told.push({ event, payload: frame });
      if (event === 'messages') frames.push(frame);
    };
    container.set(ENV, env);
    // Without the process's own figures, whose observers would pile up in a test that makes hundreds of nodes.
    container.set(Metrics, Object.assign(Object.create(Metrics.prototype), { registry: new Registry() }));
    container.set(SocketServer, { emit });
    container.set(RedisClients, machine.clients);
    container.set(TenantDataSources, hookedDatabases(machine.databases, hooks));
    container.set(
      RedisScripts,
      new HookedScripts(machine.clients, env, container.get(Logger), container.get(Metrics), hooks),
    );
    this.container = container;
  }

  get redis(): GroupMessageRedis {
    return this.container.get(GroupMessageRedis);
  }
  get store(): GroupMessageStore {
    return this.container.get(GroupMessageStore);
  }
  get writer(): BatchWriter {
    return this.container.get(BatchWriter);
  }
  get rebases(): RebaseService {
    return this.container.get(RebaseService);
  }
  get admission(): AdmissionService {
    return this.container.get(AdmissionService);
  }
  get tombstones(): TombstoneService {
    return this.container.get(TombstoneService);
  }
  get heads(): HeadService {
    return this.container.get(HeadService);
  }
  get history(): HistoryService {
    return this.container.get(HistoryService);
  }
  get sends(): SendService {
    return this.container.get(SendService);
  }
  get groups(): GroupService {
    return this.container.get(GroupService);
  }
  get topics(): TopicService {
    return this.container.get(TopicService);
  }
  get databases(): TenantDataSources {
    return this.container.get(TenantDataSources);
  }
}

export interface StoredRow {
  readonly seq: number;
  readonly id: string;
  readonly from: string;
  readonly clientMsgId: string | null;
  readonly status: string;
  readonly content: string | null;
}

/** A tenant with a database and a key prefix of its own, groups made by hand, and as many nodes as a test needs. */
export class PipelineWorld {
  /** The test's own connection, for looking and for breaking things. */
  readonly client: Redis;
  private readonly keyNames: RedisKeys;
  private readonly closers: (() => Promise<void> | void)[] = [];
  private groupCount = 0;

  private constructor(
    readonly env: Env,
    readonly info: ConnectionInfo,
  ) {
    // Of a single server or of a cluster: a test touches the keys of one topic at a time, which share a slot.
    this.client = createRedisClient(env, 'sub') as Redis;
    this.keyNames = new RedisKeys(env);
  }

  static async open(settings: Record<string, string> = {}): Promise<PipelineWorld> {
    const servers = givenServers();
    const name = freshName();
    const env = loadEnv({ ...nodeEnvironment(name, servers, settings), PORT: '1' });
    const info = databaseAt(servers, `${name}_tenant`);
    await migrateDatabase(info, schemas.tenant);
    return new PipelineWorld(env, info);
  }

  async machine(): Promise<Machine> {
    const { env } = this;
    const log = new Logger(env);
    const metrics = new Metrics();
    const clients = new RedisClients(env, log, metrics);
    const databases = new TenantDataSources(new FixedConnections(this.info), schemas.tenant, env, log, metrics);
    this.closers.push(
      () => clients.onApplicationShutdown(),
      () => databases.onApplicationShutdown(),
    );
    if (!(await clients.waitReady(5_000))) throw new Error('no Redis');
    return { clients, databases };
  }

  async node(): Promise<PipelineNode> {
    return this.nodeOn(await this.machine());
  }

  nodeOn(machine: Machine, env: Env = this.env): PipelineNode {
    return new PipelineNode(env, machine);
  }

  /** A group of members 1..`members`; member 1 is its owner. */
  async group(members = 2): Promise<Topic> {
    this.groupCount += 1;
    const id = String(this.groupCount);
    const topic = asTopic(`grp_${id}`);
    await this.sql('INSERT INTO im_groups (id, name, owner_uid, member_count) VALUES (?, ?, 1, ?)', [id, 'g', members]);
    await this.sql('INSERT INTO im_group_settings (group_id) VALUES (?)', [id]);
    const rows = Array.from({ length: members }, (_, index) => [id, index + 1, index === 0 ? 'owner' : 'member']);
    await this.sql('INSERT INTO im_group_members (group_id, uid, role) VALUES ?', [rows]);
    await this.sql('INSERT INTO im_topic_seq (topic) VALUES (?)', [topic]);
    return topic;
  }

  /** Changes a member's row as the group module does: together with the topic's permissions version. */
  async changeMember(
    topic: Topic,
    uid: UserId,
    column: 'muted_until' | 'state' | 'role',
    value: unknown,
  ): Promise<void> {
    await this.sql(`UPDATE im_group_members SET ${column} = ? WHERE group_id = ? AND uid = ?`, [
      value,
      topic.slice(4),
      uid,
    ]);
    await this.sql('UPDATE im_topic_seq SET acl_version = acl_version + 1 WHERE topic = ?', [topic]);
  }

  /** One statement on a connection of its own. */
  sql<T>(statement: string, values: readonly unknown[] = []): Promise<T[]> {
    return queryOnce<T>(this.info, SQL_TIMEOUT_MS, statement, values);
  }

  /** All rows of a topic in order, void ones included. */
  async rows(topic: Topic): Promise<StoredRow[]> {
    const rows = await this.sql<Record<string, string>>(
      `SELECT seqid, id, from_user, client_msg_id, status, content FROM im_group_messages
       WHERE topic = ? ORDER BY seqid`,
      [topic],
    );
    return rows.map((row) => ({
      seq: Number(row.seqid),
      id: row.id,
      from: row.from_user,
      clientMsgId: row.client_msg_id,
      status: row.status,
      content: row.content,
    }));
  }

  async epoch(topic: Topic): Promise<number> {
    const [row] = await this.sql<{ epoch: string }>('SELECT epoch FROM im_topic_seq WHERE topic = ?', [topic]);
    return Number(row.epoch);
  }

  keys(topic: Topic): Record<'lastSeq' | 'inflight' | 'deadlines' | 'access' | 'hot' | 'hotMeta', string> {
    const params = { t: TENANT, topic };
    return {
      lastSeq: this.keyNames.of('topicLastSeq', params),
      inflight: this.keyNames.of('topicInflight', params),
      deadlines: this.keyNames.of('topicInflightDeadline', params),
      access: this.keyNames.of('groupAccess', params),
      hot: this.keyNames.of('topicHot', params),
      hotMeta: this.keyNames.of('topicHotMeta', params),
    };
  }

  claimKey(topic: Topic, uid: UserId, clientMsgId: string): string {
    return this.keyNames.of('messageClaim', { t: TENANT, topic, from: uid, clientMsgId });
  }

  /** Lets the deadline of everything in flight pass. */
  async expire(topic: Topic): Promise<void> {
    const { deadlines } = this.keys(topic);
    for (const seq of await this.client.zrange(deadlines, '0', '-1')) await this.client.zadd(deadlines, 'XX', '1', seq);
  }

  async close(): Promise<void> {
    for (const close of this.closers) await close();
    this.client.disconnect();
    await queryOnce({ ...this.info, database: '' }, SQL_TIMEOUT_MS, `DROP DATABASE \`${this.info.database}\``);
  }
}

export const actor = (uid: string): Actor => ({ tenant: TENANT, uid: asUserId(uid), sessionId: '1' });

export function draft(
  topic: Topic,
  clientMsgId: string,
  text = clientMsgId,
  more: Partial<MessageDraft> = {},
): MessageDraft {
  return {
    topic,
    clientMsgId,
    type: 'text',
    content: { text },
    head: null,
    mentionedUserIds: [],
    mentionAll: false,
    replySeq: null,
    rootSeq: null,
    ...more,
  };
}
