import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { AppError } from '../../platform/errors/app-error.js';
import type { TenantId, UserId } from '../../platform/ids/ids.js';
import { Logger } from '../../platform/observe/logger.js';
import { Metrics } from '../../platform/observe/metrics.js';
import type { ClientSocket } from '../../platform/socket/socket-client.js';
import { SocketServer } from '../../platform/socket/socket-server.js';
import { NO_SIGHT, type PresenceSight } from '../relation/relation.types.js';
import { Announcer } from './announcer.js';
import { userKey } from './local-users.js';
import { PresenceQuery } from './presence-query.js';
import { PresentSights, sharedSight } from './present-sights.js';
import type { Presence, PresenceChange } from './presence.types.js';
import type { UserState } from './session.redis.js';
import { PresenceStates } from './states.js';
import { byAsker, type Watched } from './watched.js';

/** Users that one socket may watch. */
export const MAX_WATCHED = 1_000;
const RECHECK_CHUNK = 200;
const RECHECK_RETRY_MS = 2_000;

/**
 * Who of this node's sockets watches whom. Every node hears every change; a watch costs no subscription. After a gap (the
 * channel was away, another node ended before it told what it knew) everybody who is watched is read anew.
 */
@Injectable()
export class Watches implements OnModuleInit, OnApplicationShutdown {
  private readonly watched = new Map<string, Watched>();
  private readonly byClient = new WeakMap<ClientSocket, Set<Watched>>();
  private readonly report: () => void;
  private readonly sights: PresentSights;
  /** A change of what somebody may see may have been missed: all sights are read anew with the next recheck. */
  private sightsMissed = false;
  private rechecking = false;
  private again = false;
  private timer?: NodeJS.Timeout;

  constructor(
    private readonly announcer: Announcer,
    private readonly query: PresenceQuery,
    private readonly states: PresenceStates,
    private readonly sockets: SocketServer,
    private readonly log: Logger,
    metrics: Metrics,
  ) {
    const gauge = metrics.gauge('im_presence_watched_users', 'Users that sockets of this node watch');
    gauge.set(0);
    this.report = () => gauge.set(this.watched.size);
    this.sights = new PresentSights(query);
  }

  onModuleInit(): void {
    this.announcer.onChanges((changes) => {
      for (const change of changes) this.changed(change);
    });
  }

  onApplicationShutdown(): void {
    clearTimeout(this.timer);
  }

  /** Watches first and reads then, so that no change falls between. @throws AppError as PresenceQuery.sights */
  async watch(client: ClientSocket, uids: readonly UserId[]): Promise<Presence[]> {
    const { tenant, uid: asker } = client.data.actor;
    const wanted = [...new Set(uids)];
    const sights = await this.sights.read(tenant, asker, wanted);
    if (!client.connected) return [];
    const entries = this.enter(client, wanted, sights);
    const visible = entries.filter(({ uid }) => sights.get(uid)?.presence);
    const states = await this.readInto(tenant, visible, client);
    if (!states) {
      for (const entry of visible) entry.online = null;
      this.recheckLater();
    }
    return this.query.compose(tenant, wanted, sights, states);
  }

  /** @returns as `watch`: what they are at this moment, for the last time */
  async unwatch(client: ClientSocket, uids: readonly UserId[]): Promise<Presence[]> {
    const { tenant, uid: asker } = client.data.actor;
    for (const uid of uids) {
      const entry = this.watched.get(userKey(tenant, uid));
      if (entry) this.leave(client, entry);
    }
    return this.query.presences(tenant, asker, uids);
  }

  /** The socket is gone. */
  forget(client: ClientSocket): void {
    for (const entry of [...(this.byClient.get(client) ?? [])]) this.leave(client, entry);
  }

  /** What watchers may see of a user has changed; of one watcher alone when `watcher` is given. */
  async sightChanged(tenant: TenantId, uid: UserId, watcher?: UserId): Promise<void> {
    this.sights.changed();
    const entry = this.watched.get(userKey(tenant, uid));
    if (!entry) return;
    const askers = new Set([...entry.watchers.keys()].map((client) => client.data.actor.uid));
    for (const asker of askers) {
      if (watcher === undefined || asker === watcher) await this.lookAgain(entry, asker);
    }
  }

  /**
   * Reads everybody who is watched anew and tells what has changed. Calls that come meanwhile run it once more.
   * @param sightsMissed what may be seen is read anew, too
   */
  async recheckAll(sightsMissed = false): Promise<void> {
    this.again = true;
    this.sightsMissed ||= sightsMissed;
    if (this.rechecking) return;
    this.rechecking = true;
    try {
      while (this.again) {
        this.again = false;
        if (this.sightsMissed) await this.recheckSights();
        await this.recheckOnce();
      }
    } catch (error) {
      this.log.debug({ error: (error as Error).message }, 'the watched users could not be read anew');
      this.recheckLater();
    } finally {
      this.rechecking = false;
    }
  }

  /** One asker after the other, so that a gap is no storm for the database. @throws as PresenceQuery.sights: all again */
  private async recheckSights(): Promise<void> {
    this.sights.changed();
    this.sightsMissed = false;
    try {
      for (const [client, entries] of byAsker(this.watched.values())) {
        const { tenant, uid: asker } = client.data.actor;
        const sights = await this.sights.read(
          tenant,
          asker,
          entries.map(({ uid }) => uid),
        );
        for (const entry of entries) this.show(entry, asker, sights.get(entry.uid));
      }
    } catch (error) {
      this.sightsMissed = true;
      throw error;
    }
  }

  private async recheckOnce(): Promise<void> {
    const entries = [...this.watched.values()].sort((a, b) => a.tenant.localeCompare(b.tenant));
    let unknown = false;
    for (let first = 0; first < entries.length;) {
      const { tenant } = entries[first];
      let end = first;
      while (end < entries.length && entries[end].tenant === tenant && end - first < RECHECK_CHUNK) end += 1;
      unknown ||= (await this.readInto(tenant, entries.slice(first, end))) === null;
      first = end;
    }
    if (unknown) this.recheckLater();
  }

  /**
   * Reads users and tells their watchers what is new, except `asker`, who gets it as the answer. Where a change came during
   * the read, that is newer, and the answer.
   */
  private async readInto(
    tenant: TenantId,
    entries: readonly Watched[],
    asker?: ClientSocket,
  ): Promise<Map<UserId, UserState> | null> {
    const before = entries.map((entry) => entry.changes);
    const states = await this.states.read(
      tenant,
      entries.map(({ uid }) => uid),
    );
    entries.forEach((entry, index) => {
      const state = states?.get(entry.uid);
      if (!states || !state) return;
      if (entry.changes === before[index]) this.observe(entry, state, asker);
      else if (entry.online !== null) {
        states.set(entry.uid, { ...state, online: entry.online, lastSeenMs: entry.lastSeenMs });
      }
    });
    return states;
  }

  private recheckLater(): void {
    if (this.timer) return;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      void this.recheckAll();
    }, RECHECK_RETRY_MS).unref();
  }

  private changed(change: PresenceChange): void {
    const entry = this.watched.get(userKey(change.tenant, change.uid));
    if (!entry || change.version < entry.version) return;
    entry.changes += 1;
    this.observe(entry, change);
  }

  private observe(
    entry: Watched,
    news: Pick<PresenceChange, 'online' | 'version' | 'lastSeenMs'>,
    asker?: ClientSocket,
  ) {
    const { online, version, lastSeenMs } = news;
    const isNew = entry.online !== online;
    Object.assign(entry, { online, version, lastSeenMs });
    if (!isNew) return;
    for (const [client, sight] of entry.watchers)
      if (sight.presence && client !== asker) this.tell(client, entry, sight);
  }

  private tell(client: ClientSocket, { uid, online, lastSeenMs }: Watched, sight: PresenceSight): void {
    const seen = !online && sight.lastSeen && lastSeenMs > 0 ? { lastSeenAt: new Date(lastSeenMs).toISOString() } : {};
    this.sockets.emitTo(client, 'presence:changed', { uid, state: online ? 'online' : 'offline', ...seen });
  }

  private async lookAgain(entry: Watched, asker: UserId): Promise<void> {
    const { tenant, uid } = entry;
    // Nobody may go on seeing what he may have lost because a look-up failed.
    const sights = await this.sights.read(tenant, asker, [uid]).catch(() => new Map([[uid, NO_SIGHT]]));
    this.show(entry, asker, sights.get(uid));
  }

  /** The asker's sockets see of a user what he may see from now on; they are told when that is more or less than before. */
  private show(entry: Watched, asker: UserId, seen: PresenceSight | undefined): void {
    const { uid } = entry;
    const sight = sharedSight(seen);
    for (const [client, old] of entry.watchers) {
      if (client.data.actor.uid !== asker) continue;
      entry.watchers.set(client, sight);
      if (old.presence === sight.presence) continue;
      if (!sight.presence) this.sockets.emitTo(client, 'presence:changed', { uid, state: 'hidden' });
      else if (entry.online !== null) this.tell(client, entry, sight);
      else this.recheckLater();
    }
  }

  private enter(client: ClientSocket, uids: readonly UserId[], sights: ReadonlyMap<UserId, PresenceSight>): Watched[] {
    const { tenant } = client.data.actor;
    const own = this.byClient.get(client) ?? new Set<Watched>();
    const fresh = uids.filter((uid) => !this.watched.get(userKey(tenant, uid))?.watchers.has(client));
    if (own.size + fresh.length > MAX_WATCHED) {
      throw new AppError('VALIDATION_FAILED', {
        message: `A socket watches at most ${MAX_WATCHED} users; unwatch others first.`,
      });
    }
    this.byClient.set(client, own);
    const entries = uids.map((uid) => {
      const entry = this.entryOf(tenant, uid);
      entry.watchers.set(client, sharedSight(sights.get(uid)));
      own.add(entry);
      return entry;
    });
    this.report();
    return entries;
  }

  private entryOf(tenant: TenantId, uid: UserId): Watched {
    const key = userKey(tenant, uid);
    let entry = this.watched.get(key);
    if (!entry) {
      entry = { tenant, uid, watchers: new Map(), online: null, lastSeenMs: 0, version: 0, changes: 0 };
      this.watched.set(key, entry);
    }
    return entry;
  }

  private leave(client: ClientSocket, entry: Watched): void {
    entry.watchers.delete(client);
    this.byClient.get(client)?.delete(entry);
    if (entry.watchers.size > 0) return;
    this.watched.delete(userKey(entry.tenant, entry.uid));
    this.report();
  }
}
