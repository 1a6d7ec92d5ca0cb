import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { ENV, type Env } from '../../platform/env/env.js';
import { Logger } from '../../platform/observe/logger.js';
import { Metrics } from '../../platform/observe/metrics.js';
import { NodeIdentity } from '../../platform/redis/node-identity.js';
import type { ClientSocket } from '../../platform/socket/socket-client.js';
import { Announcer } from './announcer.js';
import { LocalUsers, type LocalUser } from './local-users.js';
import { NodeIndexRedis } from './node-index.redis.js';
import { NodeLease } from './node-lease.js';
import { SessionRedis, type SessionInfo } from './session.redis.js';

const TICK_MS = 200;
/** Refreshes in a lifetime: one may fail without harm, and another one. */
const REFRESHES_PER_TTL = 3;
const CHUNK = 200;

/**
 * Keeps what Redis knows of this node's sockets true: marks them online, refreshes all of them in a round that is spread
 * over a third of their life, and writes everything anew after the lease was lost. Nothing that a client sends costs a
 * command. Trouble with Redis stops no connection.
 */
@Injectable()
export class Sessions implements OnModuleInit, OnApplicationShutdown {
  private timer?: NodeJS.Timeout;
  private readonly failures;
  private readonly reportUsers: () => void;
  /** The slot of the round that is next, and since when the round runs. */
  private at = 0;
  private startedMs = 0;
  private rewriting = 0;

  constructor(
    private readonly users: LocalUsers,
    private readonly redis: SessionRedis,
    private readonly index: NodeIndexRedis,
    private readonly announcer: Announcer,
    private readonly lease: NodeLease,
    private readonly identity: NodeIdentity,
    private readonly log: Logger,
    @Inject(ENV) private readonly env: Env,
    metrics: Metrics,
  ) {
    this.failures = metrics.counter(
      'im_presence_refresh_failures_total',
      'Users whose sessions could not be written or refreshed in time',
    );
    const online = metrics.gauge('im_presence_online_users', 'Users with a socket on this node');
    online.set(0);
    this.reportUsers = () => online.set(this.users.size);
  }

  onModuleInit(): void {
    const periodMs = (this.env.PRESENCE_TTL_SECONDS * 1000) / REFRESHES_PER_TTL;
    this.users.layOut(Math.max(1, Math.round(periodMs / TICK_MS)));
    this.startedMs = performance.now();
    this.timer = setInterval(() => this.tick(), TICK_MS).unref();
    this.lease.onLost(() => void this.rewriteAll());
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
  }

  /** Returns when the session is written, or it is certain that it will be later. Never throws. */
  async opened(client: ClientSocket): Promise<void> {
    const user = this.users.add(client);
    this.reportUsers();
    const alone = user.writtenAs === this.identity.id;
    await this.write(user, alone ? [client] : user.sockets);
  }

  /** The socket counts no more on this node; to be called once for each that was opened. */
  closed(client: ClientSocket): void {
    this.users.remove(client);
    this.reportUsers();
  }

  /** Marks sockets of a user online under the present node id. */
  private async write(user: LocalUser, sockets: readonly ClientSocket[]): Promise<void> {
    // A node that may be dead for the others writes nothing under its old name; it comes back under a new one.
    if (!this.lease.stands) return this.missed(user);
    const node = this.identity.id;
    try {
      // First the index: whoever is online has to be found when this node dies.
      if (user.indexedAs !== node) await this.index.addUser(node, user.tenant, user.uid);
      user.indexedAs = node;
      const present = sockets.filter((client) => user.sockets.includes(client));
      if (present.length === 0) return;
      const marks = await Promise.all(
        present.map((client) => this.redis.markOnline(user.tenant, user.uid, infoOf(client, node))),
      );
      if (present.length === user.sockets.length || user.writtenAs === node) user.writtenAs = node;
      const version = Math.max(...marks.map((mark) => mark.version));
      if (!user.unsure && !marks.some((mark) => mark.announce)) return;
      user.unsure = false;
      await this.announcer.tell({ tenant: user.tenant, uid: user.uid, online: true, version, lastSeenMs: 0 });
    } catch (error) {
      this.missed(user);
      this.log.debug({ tenant: user.tenant, error: (error as Error).message }, 'a session is written later');
    }
  }

  private missed(user: LocalUser): void {
    user.writtenAs = null;
    user.unsure = true;
    this.failures.inc();
  }

  /** Takes all slots whose time has come: one normally, more after the process was held up. */
  private tick(): void {
    const due = Math.floor((performance.now() - this.startedMs) / TICK_MS);
    const first = Math.max(this.at, due - this.users.slots + 1);
    this.at = due + 1;
    // Without a lease nothing here is certain; its return writes everything anew.
    if (!this.lease.stands) return;
    for (let slot = first; slot <= due; slot += 1) {
      for (const user of this.users.inSlot(slot)) void this.refresh(user);
    }
  }

  private async refresh(user: LocalUser): Promise<void> {
    if (user.writtenAs !== this.identity.id) return this.write(user, [...user.sockets]);
    const activeAtMs = user.sockets.reduce((latest, { data }) => Math.max(latest, data.activeAtMs ?? 0), 0);
    const ids = user.sockets.map((client) => client.id);
    try {
      const lost = await this.redis.refresh(user.tenant, user.uid, ids, activeAtMs);
      if (lost.length === 0) return;
      const again = user.sockets.filter((client) => lost.includes(client.id));
      // The index may have gone the same way.
      user.indexedAs = null;
      if (again.length > 0) await this.write(user, again);
    } catch {
      this.failures.inc();
    }
  }

  /** After a new node id: all sessions, in parts, so that sends find their way between. */
  private async rewriteAll(): Promise<void> {
    this.rewriting += 1;
    const round = this.rewriting;
    const users = this.users.all();
    for (let first = 0; first < users.length && round === this.rewriting; first += CHUNK) {
      await Promise.all(users.slice(first, first + CHUNK).map((user) => this.write(user, [...user.sockets])));
    }
  }
}

function infoOf({ id, data }: ClientSocket, node: string): SessionInfo {
  return { id, node, device: data.device ?? '', ua: data.userAgent, sinceMs: data.connectedAtMs };
}
