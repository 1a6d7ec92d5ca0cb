import { loadToolEnv } from '../../src/platform/env/env.js';
import type { UserId } from '../../src/platform/ids/ids.js';
import { KEY_FAMILIES, type KeyFamilyName } from '../../src/platform/redis/key-families.js';
import { createRedisClient, type RedisClient } from '../../src/platform/redis/redis-clients.js';
import { RedisKeys } from '../../src/platform/redis/keys.js';
import type { TestClient } from './client.js';
import type { Stage } from './stage.js';

export interface PresenceAnswer {
  readonly uid: UserId;
  readonly state: string;
  readonly lastSeenAt?: string;
  readonly devices?: string[];
}

/** Looks into the Redis of a stage, and says what nodes would say after 30 s: that they have all registered. */
export class PresenceRig {
  readonly redis: RedisClient;
  private readonly keys: RedisKeys;

  private constructor(
    stage: Stage,
    private readonly tenant: string,
  ) {
    this.redis = createRedisClient(loadToolEnv(stage.environment), 'sub');
    this.redis.on('error', () => undefined);
    this.keys = new RedisKeys({ REDIS_KEY_PREFIX: stage.name });
  }

  static async open(stage: Stage, tenant: string): Promise<PresenceRig> {
    const rig = new PresenceRig(stage, tenant);
    await rig.ready();
    return rig;
  }

  async ready(): Promise<void> {
    await this.redis.set(this.key('presenceReady', {}), '1');
  }

  key(family: KeyFamilyName, params: Record<string, string>): string {
    const all = KEY_FAMILIES[family].pattern.startsWith('0:') ? params : { t: this.tenant, ...params };
    return this.keys.of(family, all as never);
  }

  state(uid: string): Promise<Record<string, string>> {
    return this.redis.hgetall(this.key('presenceUser', { uid }));
  }

  sessions(uid: string): Promise<string[]> {
    return this.redis.zrangebyscore(this.key('presenceSessions', { uid }), '-inf', '+inf');
  }

  close(): void {
    this.redis.disconnect();
  }
}

export async function presencesOf(client: TestClient, uids: readonly string[]): Promise<PresenceAnswer[]> {
  const ack = await client.emit('presence:get', { uids });
  if (!ack.ok) throw new Error(JSON.stringify(ack.error));
  return ack.presences as PresenceAnswer[];
}

export async function stateOf(client: TestClient, uid: string): Promise<string> {
  return (await presencesOf(client, [uid]))[0].state;
}

export async function watch(client: TestClient, uids: readonly string[]): Promise<PresenceAnswer[]> {
  const ack = await client.emit('presence:watch', { uids });
  if (!ack.ok) throw new Error(JSON.stringify(ack.error));
  return ack.presences as PresenceAnswer[];
}

/** What a client was told of one user, in order. */
export function toldOf(client: TestClient, uid: string): string[] {
  return client.events('presence:changed').flatMap((event) => (event.uid === uid ? [event.state as string] : []));
}
