import { Injectable } from '@nestjs/common';
import type { TenantId, Topic, UserId } from '../../platform/ids/ids.js';
import { Logger } from '../../platform/observe/logger.js';
import { ConversationRedis, type CachedUnread } from './conversation.redis.js';
import { UnreadStore, type Counted, type Unread, type UnreadState } from './unread.store.js';

const NONE: Unread = { unread: 0, mentioned: false };

/**
 * How many messages a user has not read. Nothing is counted up or down when somebody sends: a count is kept with the state
 * it was made for and is made anew when that has changed, so it is always what a recount would give. While a message below
 * the newest one is still on its way no count is kept.
 */
@Injectable()
export class UnreadService {
  constructor(
    private readonly store: UnreadStore,
    private readonly redis: ConversationRedis,
    private readonly log: Logger,
  ) {}

  /** Every topic is in the answer. @throws the driver's error */
  async of(tenant: TenantId, uid: UserId, topics: readonly Topic[]): Promise<Map<Topic, Unread>> {
    // The states first: what is counted afterwards is never older than they say.
    const states = await this.store.states(tenant, uid, topics);
    const nothing = topics.filter((topic) => isRead(states.get(topic)!));
    const asked = topics.filter((topic) => !isRead(states.get(topic)!));
    const kept = await this.kept(tenant, uid, asked, states);
    const stale = asked.filter((topic) => !kept.has(topic));
    const fresh = stale.length === 0 ? new Map<Topic, Counted>() : await this.store.count(tenant, uid, stale);
    const whole = [...fresh].filter(([, { isWhole }]) => isWhole);
    this.keep(tenant, uid, new Map(whole.map(([topic, count]) => [topic, { ...count, state: states.get(topic)! }])));
    return new Map<Topic, Unread>([
      ...[...nothing, ...stale].map((topic) => [topic, NONE] as const),
      ...[...kept, ...fresh].map(([topic, { unread, mentioned }]) => [topic, { unread, mentioned }] as const),
    ]);
  }

  private async kept(
    tenant: TenantId,
    uid: UserId,
    topics: readonly Topic[],
    states: ReadonlyMap<Topic, UnreadState>,
  ): Promise<Map<Topic, CachedUnread>> {
    try {
      const found = await this.redis.unread(tenant, uid, topics);
      return new Map([...found].filter(([topic, { state }]) => isSame(state, states.get(topic)!)));
    } catch (error) {
      this.log.debug({ tenant, error: (error as Error).message }, 'unread counts come from MySQL alone');
      return new Map();
    }
  }

  /** In the background: nobody waits for a cache. */
  private keep(tenant: TenantId, uid: UserId, counts: ReadonlyMap<Topic, CachedUnread>): void {
    this.redis.keepUnread(tenant, uid, counts).catch((error: Error) => {
      this.log.debug({ tenant, error: error.message }, 'unread counts were not kept');
    });
  }
}

const isRead = ({ head, read, floor }: UnreadState): boolean => head <= Math.max(read, floor);

const isSame = (a: UnreadState, b: UnreadState): boolean =>
  a.head === b.head && a.read === b.read && a.changes === b.changes && a.hides === b.hides && a.floor === b.floor;
