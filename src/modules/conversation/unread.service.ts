import { Injectable } from '@nestjs/common';
import type { TenantId, Topic, UserId } from '../../platform/ids/ids.js';
import { Logger } from '../../platform/observe/logger.js';
import { ConversationRedis } from './conversation.redis.js';
import { carryOut, isUndisturbed, planUnread, readUpTo, type KeptUnread, type UnreadPlan } from './unread-plan.js';
import { UnreadStore, type SeqRange } from './unread.store.js';

export interface Unread {
  readonly unread: number;
  /** Is the user mentioned in one of them? */
  readonly mentioned: boolean;
}

type Counts = Map<Topic, KeptUnread>;

const NONE: Unread = { unread: 0, mentioned: false };

/**
 * How many messages a user has not read. Nothing is counted up or down when somebody sends: a count is kept with the state
 * it was made for, and when that has changed, what came and what was read since is counted, so it is always what a recount
 * would give.
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
    const asked = topics.filter((topic) => states.get(topic)!.head > readUpTo(states.get(topic)!));
    const kept = await this.kept(tenant, uid, asked);
    const plans = asked.map((topic) => planUnread(topic, states.get(topic)!, kept.get(topic)));
    const counts = await this.count(tenant, uid, plans);
    return new Map(
      topics.map((topic) => {
        const count = counts.get(topic);
        return [topic, count ? { unread: count.unread, mentioned: count.mentions > 0 } : NONE];
      }),
    );
  }

  private async count(tenant: TenantId, uid: UserId, plans: readonly UnreadPlan[]): Promise<Counts> {
    const ranges = plans.flatMap(({ less, more }) => [less, more]).filter((range): range is SeqRange => range !== null);
    if (ranges.length === 0) return new Map(plans.map((plan) => [plan.topic, carryOut(plan, null, null).count]));
    const found = await this.store.count(tenant, uid, ranges);
    const countOf = new Map(ranges.map((range, index) => [range, found[index]]));
    const disturbed = await this.disturbed(tenant, uid, plans);
    const [counts, keep]: Counts[] = [new Map(), new Map()];
    for (const plan of plans.filter(({ topic }) => !disturbed.some((other) => other.topic === topic))) {
      const of = (range: SeqRange | null) => (range && countOf.get(range)) ?? null;
      const { count, mayBeKept } = carryOut(plan, of(plan.less), of(plan.more));
      counts.set(plan.topic, count);
      if (mayBeKept && (plan.less ?? plan.more)) keep.set(plan.topic, count);
    }
    this.keep(tenant, uid, keep);
    return disturbed.length === 0 ? counts : new Map([...counts, ...(await this.count(tenant, uid, disturbed))]);
  }

  /**
   * What is put together of a kept count and another one holds if nothing between them was changed meanwhile.
   * @returns plans that count everything, for those that do not
   */
  private async disturbed(tenant: TenantId, uid: UserId, plans: readonly UnreadPlan[]): Promise<UnreadPlan[]> {
    const built = plans.filter(({ kept, less, more }) => kept && (less ?? more));
    const topics = built.map(({ topic }) => topic);
    const now = await this.store.states(tenant, uid, topics);
    return built
      .filter(({ topic, state }) => !isUndisturbed(state, now.get(topic)!))
      .map(({ topic }) => planUnread(topic, now.get(topic)!, undefined));
  }

  private async kept(tenant: TenantId, uid: UserId, topics: readonly Topic[]): Promise<Counts> {
    try {
      return await this.redis.unread(tenant, uid, topics);
    } catch (error) {
      this.log.debug({ tenant, error: (error as Error).message }, 'unread counts come from MySQL alone');
      return new Map();
    }
  }

  /** In the background: nobody waits for a cache. */
  private keep(tenant: TenantId, uid: UserId, counts: Counts): void {
    this.redis.keepUnread(tenant, uid, counts).catch((error: Error) => {
      this.log.debug({ tenant, error: error.message }, 'unread counts were not kept');
    });
  }
}
