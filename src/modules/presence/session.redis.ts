import { Inject, Injectable } from '@nestjs/common';
import { ENV, type Env } from '../../platform/env/env.js';
import type { TenantId, UserId } from '../../platform/ids/ids.js';
import { RedisKeys } from '../../platform/redis/keys.js';
import { loadScript, RedisScripts, type RedisScript } from '../../platform/redis/redis-scripts.js';

const MARK_ONLINE = loadScript(__dirname, 'mark_online');
const REFRESH = loadScript(__dirname, 'refresh');
const MARK_OFFLINE = loadScript(__dirname, 'mark_offline');
const SETTLE = loadScript(__dirname, 'settle_offline');
const REAP = loadScript(__dirname, 'reap');
const READ = loadScript(__dirname, 'read');

/** A user whose last session ended is announced as offline after this long without a new one. */
export const GRACE_MS = 5_000;

/** One socket, as Redis knows it. */
export interface SessionInfo {
  readonly id: string;
  readonly node: string;
  readonly device: string;
  readonly ua: string;
  /** Milliseconds since the epoch. */
  readonly sinceMs: number;
}

export interface Marked {
  /** Others took the user for offline until now. */
  readonly announce: boolean;
  readonly version: number;
}

export type Settled =
  | { readonly kind: 'online' }
  | { readonly kind: 'grace'; readonly leftMs: number }
  | { readonly kind: 'offline'; readonly version: number; readonly lastSeenMs: number };

export interface UserState {
  readonly online: boolean;
  /** See `PresenceChange.version`. */
  readonly version: number;
  /** 0 = Redis does not know. */
  readonly lastSeenMs: number;
  readonly devices: readonly string[];
}

/** The three keys of a user: each call is one script, one round trip, and may be repeated. All throw RedisUnavailable. */
@Injectable()
export class SessionRedis {
  private readonly ttlMs: number;

  constructor(
    private readonly keys: RedisKeys,
    private readonly scripts: RedisScripts,
    @Inject(ENV) env: Pick<Env, 'PRESENCE_TTL_SECONDS'>,
  ) {
    this.ttlMs = env.PRESENCE_TTL_SECONDS * 1000;
  }

  async markOnline(tenant: TenantId, uid: UserId, session: SessionInfo): Promise<Marked> {
    const { id, node, device, ua, sinceMs } = session;
    const args = [id, node, device, ua, sinceMs, this.ttlMs, GRACE_MS];
    const [status, version] = (await this.run(MARK_ONLINE, tenant, uid, args)) as [string, number];
    return { announce: status === 'ANNOUNCE', version };
  }

  /**
   * @param activeAtMs when the user last did something, 0 when that is not known
   * @returns the sessions that Redis does not know, or not whole: they have to be marked online again
   */
  async refresh(tenant: TenantId, uid: UserId, sessions: readonly string[], activeAtMs: number): Promise<string[]> {
    const reply = (await this.run(REFRESH, tenant, uid, [this.ttlMs, activeAtMs, ...sessions])) as string[];
    return reply.slice(1);
  }

  /** @returns whether other sessions live; `last` = he has to be announced as offline after the grace */
  async markOffline(tenant: TenantId, uid: UserId, session: string): Promise<'others' | 'last' | 'offline'> {
    const [status] = (await this.run(MARK_OFFLINE, tenant, uid, [session])) as ['OTHERS' | 'LAST' | 'OFFLINE'];
    return status.toLowerCase() as 'others' | 'last' | 'offline';
  }

  /** @param graceMs 0 = at once */
  async settleOffline(tenant: TenantId, uid: UserId, graceMs = GRACE_MS): Promise<Settled> {
    return settled(await this.run(SETTLE, tenant, uid, [graceMs, this.ttlMs]));
  }

  /** Ends what a dead node held for the user. */
  async reap(tenant: TenantId, uid: UserId, node: string, livedUntilMs: number): Promise<Settled> {
    return settled(await this.run(REAP, tenant, uid, [node, livedUntilMs, GRACE_MS, this.ttlMs]));
  }

  async read(tenant: TenantId, uid: UserId): Promise<UserState> {
    const reply = (await this.run(READ, tenant, uid, [GRACE_MS])) as [string, number, string, ...string[]];
    const [state, version, seen, ...infos] = reply;
    const devices = infos.map((info) => (JSON.parse(info) as { device: string }).device).filter((name) => name !== '');
    return { online: state === 'online', version, lastSeenMs: Number(seen), devices: [...new Set(devices)].sort() };
  }

  private run(
    script: RedisScript,
    tenant: TenantId,
    uid: UserId,
    args: readonly (string | number)[],
  ): Promise<unknown> {
    const params = { t: tenant, uid };
    const keys = [
      this.keys.of('presenceUser', params),
      this.keys.of('presenceSessions', params),
      this.keys.of('presenceSessionInfo', params),
    ];
    return this.scripts.run(script, keys, args);
  }
}

function settled(reply: unknown): Settled {
  const [status, first, second] = reply as [string, number?, number?];
  switch (status) {
    case 'ONLINE':
      return { kind: 'online' };
    case 'GRACE':
      return { kind: 'grace', leftMs: first! };
    case 'ANNOUNCE':
    case 'OFFLINE':
      // Told before or not: telling it again changes nothing, since a change has its number.
      return { kind: 'offline', version: first!, lastSeenMs: second! };
    default:
      throw new Error(`an unknown answer of a presence script: ${status}`);
  }
}
