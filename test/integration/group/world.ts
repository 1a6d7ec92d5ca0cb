import { randomBytes } from 'node:crypto';
import { loadEnv, type Env } from '../../../src/platform/env/env.js';
import {
  asTenantId,
  asTopic,
  asUserId,
  type Actor,
  type TenantId,
  type Topic,
  type UserId,
} from '../../../src/platform/ids/ids.js';
import { parseMysqlUrl, type ConnectionInfo } from '../../../src/platform/mysql/connection-info.js';
import { migrateDatabase } from '../../../src/platform/mysql/migrate.js';
import { TenantConnections, TenantDataSources } from '../../../src/platform/mysql/tenant-data-sources.js';
import { Logger } from '../../../src/platform/observe/logger.js';
import { Metrics } from '../../../src/platform/observe/metrics.js';
import { CacheStore } from '../../../src/platform/redis/cache-store.js';
import { KeyRemovals } from '../../../src/platform/redis/key-removals.js';
import { KnownServer } from '../../../src/platform/redis/known-server.js';
import { RedisKeys } from '../../../src/platform/redis/keys.js';
import { LeaseCaches } from '../../../src/platform/redis/lease-caches.js';
import { RedisClients } from '../../../src/platform/redis/redis-clients.js';
import type { SocketServer } from '../../../src/platform/socket/socket-server.js';
import { AuditService } from '../../../src/modules/audit/audit.service.js';
import { AccessInvalidation } from '../../../src/modules/group/access-invalidation.js';
import { GroupAnnouncer } from '../../../src/modules/group/group-announcer.js';
import { GroupChanges } from '../../../src/modules/group/group-changes.js';
import { GroupLifeService } from '../../../src/modules/group/group-life.service.js';
import { GroupLimits } from '../../../src/modules/group/group-limits.js';
import { GroupMembersService } from '../../../src/modules/group/group-members.service.js';
import { GroupReads } from '../../../src/modules/group/group-reads.js';
import { GroupAccessCache, MemberPageCache, UserTopicsCache } from '../../../src/modules/group/group.redis.js';
import { GroupService } from '../../../src/modules/group/group.service.js';
import { SignedCursors } from '../../../src/platform/http/signed-cursors.js';
import { MemberCursors } from '../../../src/modules/group/member-cursor.js';
import { MemberList } from '../../../src/modules/group/member-list.js';
import { UnknownOutcomes } from '../../../src/modules/group/unknown-outcomes.js';
import type { PresenceService } from '../../../src/modules/presence/presence.service.js';
import { RelationCaches } from '../../../src/modules/relation/relation.redis.js';
import { RelationService } from '../../../src/modules/relation/relation.service.js';
import type { TenantService } from '../../../src/modules/tenant/tenant.service.js';
import { TopicService } from '../../../src/modules/topic/topic.service.js';
import { UserCaches } from '../../../src/modules/user/user.redis.js';
import { UserService } from '../../../src/modules/user/user.service.js';
import { GroupMessages1764000000200 } from '../../../src/migrations/tenant/0020-group-messages.js';
import { schemas } from '../../../src/schema.js';
import { SwitchableScripts } from '../../support/cache-node.js';

/** What a node told the others and the clients, in the order it did. */
export type Told =
  | { readonly ask: string; readonly uids?: readonly UserId[] }
  | { readonly room: string; readonly kind: string; readonly event: Record<string, unknown> };

export interface Node {
  readonly groups: GroupService;
  readonly cache: GroupAccessCache;
  readonly removals: KeyRemovals;
  readonly life: GroupLifeService;
  readonly members: GroupMembersService;
  readonly reads: GroupReads;
  readonly list: MemberList;
  readonly topics: TopicService;
  readonly databases: TenantDataSources;
  readonly scripts: SwitchableScripts;
  readonly told: Told[];
  /** What asking the living nodes answers. */
  confirm: (kind: string) => Promise<boolean>;
}

class FixedConnections extends TenantConnections {
  constructor(private readonly info: ConnectionInfo) {
    super();
  }

  connectionOf(): ConnectionInfo {
    return this.info;
  }
}

/** A tenant of its own with a fresh database, and as many nodes as a test needs. */
export class World {
  get prefix(): string {
    return this.env.REDIS_KEY_PREFIX;
  }

  readonly tenant: TenantId = asTenantId('7');
  maxGroupMembers?: number;
  private readonly closers: (() => Promise<void> | void)[] = [];
  private accounts = 0;

  private constructor(
    readonly env: Env,
    private readonly info: ConnectionInfo,
  ) {}

  /** Where the tenant's database is. */
  get connections(): TenantConnections {
    return new FixedConnections(this.info);
  }

  static async open(): Promise<World> {
    const run = randomBytes(5).toString('hex');
    const secret = 'x'.repeat(32);
    const env = loadEnv({
      ...process.env,
      NODE_ENV: 'test',
      LOG_LEVEL: 'silent',
      REDIS_KEY_PREFIX: `t${run}`,
      JWT_SECRET: secret,
      SECRETS_KEY: secret,
      PHONE_HASH_KEY: secret,
      ADMIN_TOKEN: secret,
    });
    const info = { ...parseMysqlUrl(env.MYSQL_URL), database: `im_test_group_${run}` };
    // Joining reads the newest seq of the message table.
    const migrations = [...new Set([...schemas.tenant.migrations, GroupMessages1764000000200])];
    await migrateDatabase(info, { ...schemas.tenant, migrations });
    return new World(env, info);
  }

  async node(settings: Partial<Env> = {}): Promise<Node> {
    const env = { ...this.env, ...settings };
    const log = new Logger(env);
    const metrics = new Metrics();
    const clients = new RedisClients(env, log, metrics);
    const databases = new TenantDataSources(new FixedConnections(this.info), schemas.tenant, env, log, metrics);
    this.closers.push(
      () => clients.onApplicationShutdown(),
      () => databases.onApplicationShutdown(),
    );
    if (!(await clients.waitReady(5_000))) throw new Error('no Redis');
    const scripts = new SwitchableScripts(clients, env, log, metrics);
    const keys = new RedisKeys(env);
    const removals = new KeyRemovals(scripts, log);
    this.closers.push(() => removals.onApplicationShutdown());
    const caches = new LeaseCaches(new CacheStore(clients, scripts, new KnownServer(clients), removals), log, metrics);
    const cache = new GroupAccessCache(keys, scripts, env);
    const lists = new UserTopicsCache(keys, caches, env);
    const groups = new GroupService(databases, cache, lists, log);
    const invalidation = new AccessInvalidation(removals, cache, lists);
    const topics = new TopicService();
    const limits = new GroupLimits({
      get: () => ({ settings: { maxGroupMembers: this.maxGroupMembers } }),
    } as unknown as TenantService);
    const told: Told[] = [];
    const presence = {
      askLivingNodes: (kind: string, payload: { uids?: UserId[] }) => {
        told.push({ ask: kind, ...(payload.uids ? { uids: payload.uids } : {}) });
        return node.confirm(kind);
      },
    } as unknown as PresenceService;
    const sockets = {
      emit: (room: string, _name: string, event: Record<string, unknown>) =>
        told.push({ room, kind: String(event.kind), event }),
    } as unknown as SocketServer;
    const announcer = new GroupAnnouncer(invalidation, presence, sockets, log);
    this.closers.push(() => announcer.onApplicationShutdown());
    const audit = new AuditService();
    const unknown = new UnknownOutcomes(databases, announcer, log);
    this.closers.push(() => unknown.onApplicationShutdown());
    const changes = new GroupChanges(databases, topics, audit, unknown);
    const users = new UserService(databases, new UserCaches(keys, caches));
    const relations = new RelationService(databases, users, new RelationCaches(keys, caches, env));
    const node: Node = {
      groups,
      cache,
      removals,
      life: new GroupLifeService(databases, topics, changes, announcer, limits, relations, audit),
      members: new GroupMembersService(changes, announcer, limits, relations),
      reads: new GroupReads(databases, groups),
      list: new MemberList(
        databases,
        groups,
        users,
        new MemberCursors(new SignedCursors(env)),
        new MemberPageCache(keys, caches),
      ),
      topics,
      databases,
      scripts,
      told,
      confirm: () => Promise.resolve(true),
    };
    return node;
  }

  /** Active users with ascending ids. */
  async users(count: number, status = 'active'): Promise<UserId[]> {
    const rows = Array.from({ length: count }, () => {
      this.accounts += 1;
      return [`user${this.accounts}`, `Name ${this.accounts}`, status];
    });
    return this.sql(async (query) => {
      await query('INSERT INTO im_users (account, nickname, status) VALUES ?', [rows]);
      const made = await query('SELECT id FROM im_users WHERE account IN (?) ORDER BY id', [
        rows.map(([account]) => account),
      ]);
      return made.map((row) => asUserId(String(row.id)));
    });
  }

  actor(uid: UserId): Actor {
    return { tenant: this.tenant, uid, sessionId: '1' };
  }

  async group(node: Node, owner: UserId, memberUids: readonly UserId[] = []): Promise<Topic> {
    const { topic } = await node.life.create(this.actor(owner), { name: 'Group', memberUids });
    node.told.length = 0;
    return asTopic(topic);
  }

  /** Rows of a query on a connection of the test's own. */
  query(sql: string, values: readonly unknown[] = []): Promise<Record<string, unknown>[]> {
    return this.sql((query) => query(sql, values));
  }

  async close(): Promise<void> {
    await this.query(`DROP DATABASE ${this.info.database}`);
    for (const close of this.closers) await close();
    await this.plain?.onApplicationShutdown();
  }

  private plain?: TenantDataSources;

  private async sql<T>(
    work: (query: (sql: string, values?: readonly unknown[]) => Promise<Record<string, unknown>[]>) => Promise<T>,
  ): Promise<T> {
    const log = new Logger(this.env);
    this.plain ??= new TenantDataSources(new FixedConnections(this.info), schemas.tenant, this.env, log, new Metrics());
    return this.plain.run(this.tenant, (db) => work((sql, values) => db.query(sql, values)));
  }
}

/** A promise that a test opens by hand. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open: () => open() };
}

/** Waits for a condition, at most `timeoutMs`. */
export async function until(condition: () => boolean | Promise<boolean>, timeoutMs = 5_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error('the condition did not come true in time');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
