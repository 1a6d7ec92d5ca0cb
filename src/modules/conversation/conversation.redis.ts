import { Injectable } from '@nestjs/common';
import type { TenantId, Topic, UserId } from '../../platform/ids/ids.js';
import { RedisKeys } from '../../platform/redis/keys.js';
import { LeaseCaches } from '../../platform/redis/lease-caches.js';
import { RedisScripts } from '../../platform/redis/redis-scripts.js';
import type { ValueCache } from '../../platform/redis/value-cache.js';
import type { FirstScreen } from './conversation.types.js';
import type { KeptUnread } from './unread-plan.js';

const UNREAD_TTL_SECONDS = 300;
const BOOTSTRAP_TTL_SECONDS = 10;

/** What Redis keeps of a user's conversations. */
@Injectable()
export class ConversationRedis {
  readonly bootstrap: ValueCache<FirstScreen>;

  constructor(
    private readonly keys: RedisKeys,
    private readonly scripts: RedisScripts,
    caches: LeaseCaches,
  ) {
    const keyOf = (t: TenantId, uid: string): string => keys.of('bootstrap', { t, uid });
    this.bootstrap = caches.values({ name: 'bootstrap', keyOf, ttlSeconds: BOOTSTRAP_TTL_SECONDS });
  }

  /** Counts that are kept, whether they still hold or not. @throws RedisUnavailable */
  async unread(tenant: TenantId, uid: UserId, topics: readonly Topic[]): Promise<Map<Topic, KeptUnread>> {
    if (topics.length === 0) return new Map();
    const key = this.keys.of('userUnread', { t: tenant, uid });
    const texts = await this.scripts.command('unread_read', (client) => client.hmget(key, ...topics));
    return new Map(topics.flatMap((topic, index) => (texts[index] === null ? [] : [[topic, decode(texts[index])]])));
  }

  /** Keeps counts, each with the state that was read before it was made. @throws RedisUnavailable */
  async keepUnread(tenant: TenantId, uid: UserId, counts: ReadonlyMap<Topic, KeptUnread>): Promise<void> {
    if (counts.size === 0) return;
    const key = this.keys.of('userUnread', { t: tenant, uid });
    const fields = [...counts].flatMap(([topic, count]) => [topic, encode(count)]);
    await this.scripts.command('unread_keep', (client) => client.hset(key, ...fields));
    await this.scripts.command('unread_keep', (client) => client.expire(key, UNREAD_TTL_SECONDS));
  }
}

/** Head, read, changes, hides, floor, unread, mentions. */
function encode({ state, unread, mentions }: KeptUnread): string {
  return [state.head, state.read, state.changes, state.hides, state.floor, unread, mentions].join(' ');
}

function decode(text: string): KeptUnread {
  const [head, read, changes, hides, floor, unread, mentions] = text.split(' ').map(Number);
  return { state: { head, read, changes, hides, floor }, unread, mentions };
}
