import { Injectable } from '@nestjs/common';
import { AppError } from '../../platform/errors/app-error.js';
import type { TenantId, Topic, UserId } from '../../platform/ids/ids.js';
import type { EntityManager } from 'typeorm';
import type { TenantDb } from '../../platform/mysql/tenant-db.js';
import { TenantDataSources } from '../../platform/mysql/tenant-data-sources.js';
import type { WriterSession } from '../../platform/mysql/writer-pool.js';
import { Logger } from '../../platform/observe/logger.js';
import { RedisUnavailable } from '../../platform/redis/redis-scripts.js';
import { selectAccess, selectActive, selectMemberCount, selectNames, selectTopicsOf } from './access.store.js';
import { GroupAccessCache, UserTopicsCache } from './group.redis.js';
import { decide, type GroupAccess, type GroupAction } from './group.types.js';

const FILL_TRIES = 3;

/** What the rest of the product asks about groups: who may do what in them, and whose they are. */
@Injectable()
export class GroupService {
  /** Loads that a caller may still join, by tenant, topic and uid. */
  private readonly loads = new Map<string, Promise<GroupAccess>>();

  constructor(
    private readonly databases: TenantDataSources,
    private readonly cache: GroupAccessCache,
    private readonly lists: UserTopicsCache,
    private readonly log: Logger,
  ) {}

  /**
   * Reads a user's access from MySQL and fills the cache that Admit reads, once for all who ask at the same time. What it
   * returns is never older than the call. With Redis down it is MySQL's answer alone.
   * @throws AppError of the tenant; the driver's error when MySQL does not answer
   */
  loadAccess(tenant: TenantId, topic: Topic, uid: UserId): Promise<GroupAccess> {
    const key = `${tenant}/${topic}/${uid}`;
    const running = this.loads.get(key);
    if (running) return running;
    const close = (): void => void (this.loads.get(key) === load && this.loads.delete(key));
    const load: Promise<GroupAccess> = this.loadAndFill(tenant, topic, uid, () => close()).finally(() => close());
    this.loads.set(key, load);
    return load;
  }

  /** One SELECT, nothing cached. */
  async accessFromMysql(db: TenantDb, topic: Topic, uid: UserId): Promise<GroupAccess> {
    const found = await selectAccess((sql, values) => db.query(sql, values), topic, [uid]);
    return found.get(uid) as GroupAccess;
  }

  /**
   * Reads the user's access from MySQL and decides.
   * @throws AppError of the decision
   */
  async permit(db: TenantDb, uid: UserId, topic: Topic, action: GroupAction): Promise<GroupAccess> {
    const access = await this.accessFromMysql(db, topic, uid);
    const refusal = decide(access, action, Date.now());
    if (refusal !== null) throw new AppError(refusal);
    return access;
  }

  /**
   * Access of several users, read inside the caller's fenced transaction: at READ COMMITTED the SELECT sees the newest
   * commit, and the fence keeps later changes from committing before the caller does.
   */
  recheck(session: WriterSession, topic: Topic, uids: readonly UserId[]): Promise<Map<UserId, GroupAccess>> {
    return selectAccess((sql, values) => session.rows(sql, values), topic, uids);
  }

  /** Access of one user, read inside the caller's transaction. */
  async accessIn(tx: EntityManager, topic: Topic, uid: UserId): Promise<GroupAccess> {
    const select = <T>(sql: string, values: readonly unknown[]): Promise<T[]> => tx.query(sql, [...values]);
    return (await selectAccess(select, topic, [uid])).get(uid) as GroupAccess;
  }

  /** Topics of the active groups that the user is a member of, never older than an acknowledged change. */
  topicsOf(tenant: TenantId, uid: UserId): Promise<readonly Topic[]> {
    return this.lists.get(tenant, uid, () => this.topicsFromMysql(tenant, uid));
  }

  /** The same from MySQL, for those who may have missed a change. */
  topicsFromMysql(tenant: TenantId, uid: UserId): Promise<Topic[]> {
    return this.databases.run(tenant, (db) => selectTopicsOf((sql, values) => db.query(sql, values), uid));
  }

  /** Names of groups. */
  namesOf(tenant: TenantId, topics: readonly Topic[]): Promise<Map<Topic, string>> {
    return this.databases.run(tenant, (db) => selectNames((sql, values) => db.query(sql, values), topics));
  }

  /** Active members of a group, 0 when there is none. */
  memberCount(tenant: TenantId, topic: Topic): Promise<number> {
    return this.databases.run(tenant, (db) => selectMemberCount((sql, values) => db.query(sql, values), topic));
  }

  /** Those of `uids` that are members at this moment, from MySQL; for nodes that are told to join or drop sockets. */
  activeMembers(tenant: TenantId, topic: Topic, uids: readonly UserId[]): Promise<UserId[]> {
    return this.databases.run(tenant, (db) => selectActive((sql, values) => db.query(sql, values), topic, uids));
  }

  /**
   * @param close ends joining. A caller who joins after a change was acknowledged must not get what was read before it.
   *   While a lease stands that is certain (the change's invalidation kills it, the fill is refused, all load again), so
   *   joining ends when the fill is sent; without a lease it ends before the SELECT is sent.
   */
  private async loadAndFill(tenant: TenantId, topic: Topic, uid: UserId, close: () => void): Promise<GroupAccess> {
    const read = (): Promise<GroupAccess> => this.databases.run(tenant, (db) => this.accessFromMysql(db, topic, uid));
    try {
      for (let attempt = 1; attempt <= FILL_TRIES; attempt += 1) {
        const token = await this.cache.lease(tenant, topic, uid);
        const access = await read();
        close();
        if (await this.cache.fill(tenant, topic, uid, token, access)) return access;
      }
    } catch (error) {
      if (!(error instanceof RedisUnavailable)) throw error;
      this.log.debug({ tenant, topic }, 'group access comes from MySQL alone');
      // An open breaker refuses at once: let all callers of this turn of the event loop share the SELECT.
      await new Promise((resolve) => setImmediate(resolve));
    }
    close();
    return read();
  }
}
