import { Injectable } from '@nestjs/common';
import type { ErrorCode } from '../../platform/errors/error-table.js';
import { asSeq, type Actor, type TenantId, type Topic } from '../../platform/ids/ids.js';
import { Logger } from '../../platform/observe/logger.js';
import { RedisUnavailable } from '../../platform/redis/redis-scripts.js';
import { GroupService } from '../group/group.service.js';
import { ChangeStore } from './change.store.js';
import type { HistoryPage, HistoryQuery, TopicHead } from './group-message.types.js';
import { HeadService } from './head.service.js';
import { HotPolicy } from './hot-policy.js';
import { hotHole, hotMember, HotRedis, type PageReply } from './hot.redis.js';
import { messageOf } from './message-row.js';
import { MAX_PAGE_BYTES, type Examined } from './mysql-pages.js';
import { RebaseService } from './rebase.service.js';

/** More of it is a stretch of holes that no page asks for again. */
const MAX_FILL = 512;
/** A reader who deleted more than this for himself reads from MySQL. */
const MAX_HIDES = 1_000;

export interface ColdAnswer {
  readonly kind: 'cold';
  readonly floor: number;
  readonly head: TopicHead;
  /** Rows that are read now may be filled in under it; null = not. */
  readonly generation: string | null;
  /** What the reader deleted for himself; null = ask for the range. */
  readonly hidden: ReadonlySet<number> | null;
}

export type HotAnswer =
  | { readonly kind: 'page'; readonly page: HistoryPage }
  | { readonly kind: 'refused'; readonly code: ErrorCode }
  | ColdAnswer
  /** Redis is away, or the counter is in doubt. */
  | { readonly kind: 'unknown' };

/** Pages out of the hot set: only whole ones; everything else is left to MySQL and then filled in. */
@Injectable()
export class HotPages {
  constructor(
    private readonly redis: HotRedis,
    private readonly policy: HotPolicy,
    private readonly groups: GroupService,
    private readonly heads: HeadService,
    private readonly changes: ChangeStore,
    private readonly rebases: RebaseService,
    private readonly log: Logger,
  ) {}

  async ask(actor: Actor, topic: Topic, query: HistoryQuery): Promise<HotAnswer> {
    try {
      let reply = await this.page(actor, topic, query);
      if (reply.status === 'NEEDS_ACCESS') {
        await this.groups.loadAccess(actor.tenant, topic, actor.uid);
        reply = await this.page(actor, topic, query);
      }
      return await this.answer(actor, topic, reply);
    } catch (error) {
      if (error instanceof RedisUnavailable) return { kind: 'unknown' };
      throw error;
    }
  }

  /** Puts what a page read from MySQL into the hot set, in the background. */
  refill(tenant: TenantId, topic: Topic, cold: ColdAnswer, examined: Examined): void {
    // Above stableSeq a missing number is no hole.
    const to = Math.min(examined.to, cold.head.stableSeq);
    if (cold.generation === null || to < examined.from || to - examined.from >= MAX_FILL) return;
    const members = new Map<number, string>();
    for (let seq = examined.from; seq <= to; seq += 1) members.set(seq, hotHole(seq));
    for (const row of examined.rows) {
      const seq = Number(row.seqid);
      if (seq <= to && row.status !== 'void') members.set(seq, hotMember(messageOf(topic, row)));
    }
    this.redis.fill(tenant, topic, cold.generation, members).catch((error: Error) => {
      this.log.debug({ tenant, topic, error: error.message }, 'a hot set was not filled');
    });
  }

  private page(actor: Actor, topic: Topic, query: HistoryQuery): Promise<PageReply> {
    const forward = query.afterSeq !== undefined;
    return this.redis.page(actor, topic, {
      direction: forward ? 'after' : 'before',
      bound: (forward ? query.afterSeq : query.beforeSeq) ?? null,
      limit: query.limit,
      maxBytes: MAX_PAGE_BYTES,
      hot: this.policy.isHot(actor.tenant, topic),
    });
  }

  private async answer(actor: Actor, topic: Topic, reply: PageReply): Promise<HotAnswer> {
    switch (reply.status) {
      case 'NEEDS_ACCESS':
        return { kind: 'unknown' };
      case 'NOT_MEMBER':
      case 'NO_GROUP':
        return { kind: 'refused', code: 'NOT_MEMBER' };
      case 'DISMISSED':
        return { kind: 'refused', code: 'GROUP_DISMISSED' };
      case 'DOUBT':
        this.rebases.rebaseInBackground(actor.tenant, topic, reply.doubt, reply.epoch);
        return { kind: 'unknown' };
      case 'HOT': {
        const head = this.heads.remember(actor.tenant, topic, reply);
        const { messages, hasMore } = reply;
        return {
          kind: 'page',
          page: { messages, nextAfterSeq: asSeq(reply.examined), ...head, hasMore, source: 'hot' },
        };
      }
      case 'COLD': {
        const head = this.heads.remember(actor.tenant, topic, reply);
        const hidden = await this.hidden(actor, topic, reply.hides, reply.hidesToken);
        return { kind: 'cold', floor: reply.floor, head, generation: reply.generation, hidden };
      }
    }
  }

  private async hidden(
    actor: Actor,
    topic: Topic,
    hides: 'none' | 'some' | 'unknown',
    token: string,
  ): Promise<ReadonlySet<number> | null> {
    if (hides === 'none') return new Set();
    if (hides === 'some') return null;
    const all = Number.MAX_SAFE_INTEGER;
    const seqs = await this.changes.hidden(actor.tenant, topic, actor.uid, 0, all, MAX_HIDES + 1);
    if (seqs.length > MAX_HIDES) return null;
    this.redis.fillHides(actor.tenant, topic, actor.uid, token, seqs).catch((error: Error) => {
      this.log.debug({ tenant: actor.tenant, topic, error: error.message }, 'own deletions were not cached');
    });
    return new Set(seqs);
  }
}
