import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { TenantId, Topic } from '../../platform/ids/ids.js';
import { RedisUnavailable } from '../../platform/redis/redis-scripts.js';
import { GroupMessageRedis, type HeadReply } from './group-message.redis.js';
import { GroupMessageStore } from './group-message.store.js';
import type { TopicHead } from './group-message.types.js';
import { RebaseService } from './rebase.service.js';

/** Topics whose surely stable number a node remembers. */
const REMEMBERED_TOPICS = 20_000;

/** How far a topic can be read for sure. Asked BEFORE the rows are read; only for members, since a doubt is acted upon. */
@Injectable()
export class HeadService {
  /** What was stable once stays so: the answer while the counter is away or in doubt. */
  private readonly surelyStable = new LRUCache<string, number>({ max: REMEMBERED_TOPICS });

  constructor(
    private readonly redis: GroupMessageRedis,
    private readonly store: GroupMessageStore,
    private readonly rebases: RebaseService,
  ) {}

  /** Never fails because of Redis: then `stableSeq` is the highest value that this node knows for sure, 0 when none. */
  async read(tenant: TenantId, topic: Topic): Promise<TopicHead> {
    const reply = await this.ask(tenant, topic);
    if (reply?.status === 'HEAD') return this.remember(tenant, topic, reply);
    if (reply) this.rebases.rebaseInBackground(tenant, topic, reply.doubt, reply.epoch);
    const stableSeq = this.surelyStable.get(`${tenant} ${topic}`) ?? 0;
    return { stableSeq, lastSeq: Math.max(stableSeq, await this.store.lastStoredSeq(tenant, topic)) };
  }

  /** Takes in what a script said of the head. A number in flight past its deadline still bounds it, and is seen to. */
  remember(
    tenant: TenantId,
    topic: Topic,
    said: { readonly stableSeq: number; readonly lastSeq: number; readonly expiredEpoch: number | null },
  ): TopicHead {
    if (said.expiredEpoch !== null) this.rebases.rebaseInBackground(tenant, topic, 'expired', said.expiredEpoch);
    const key = `${tenant} ${topic}`;
    const stableSeq = Math.max(said.stableSeq, this.surelyStable.get(key) ?? 0);
    this.surelyStable.set(key, stableSeq);
    return { stableSeq, lastSeq: Math.max(said.lastSeq, stableSeq) };
  }

  private async ask(tenant: TenantId, topic: Topic): Promise<HeadReply | null> {
    try {
      return await this.redis.head(tenant, topic);
    } catch (error) {
      if (error instanceof RedisUnavailable) return null;
      throw error;
    }
  }
}
