import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { ErrorCode } from '../../platform/errors/error-table.js';
import type { Actor, TenantId, Topic } from '../../platform/ids/ids.js';
import { Logger } from '../../platform/observe/logger.js';
import { Batches } from '../../platform/redis/batches.js';
import { RedisUnavailable } from '../../platform/redis/redis-scripts.js';
import { GroupService } from '../group/group.service.js';
import { ChangeStore } from './change.store.js';
import type { HistoryQuery, TopicHead } from './group-message.types.js';
import { HeadService } from './head.service.js';
import { TextPage } from './history-page.js';
import { hotHole } from './hot-member.js';
import { HotPolicy } from './hot-policy.js';
import { arrayText, readRange, type HotRange } from './hot-range.js';
import { HotRedis, type MembersAt, type PageReply, type ReaderState, type TopicState } from './hot.redis.js';
import type { Examined } from './mysql-pages.js';
import type { QuoteRights } from './quote.service.js';
import { RebaseService } from './rebase.service.js';

/** More of it is a stretch of holes that no page asks for again. */
const MAX_FILL = 512;
/** A reader who deleted more than this for himself reads from MySQL. */
const MAX_HIDES = 1_000;
/** Readers of one page that one script takes in. */
const MAX_READERS = 64;

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
  | { readonly kind: 'page'; readonly page: TextPage; readonly rights: QuoteRights }
  | { readonly kind: 'refused'; readonly code: ErrorCode }
  | ColdAnswer
  /** Redis is away, or the counter is in doubt. */
  | { readonly kind: 'unknown' };

type KnownTopic = Extract<TopicState, { status: 'HOT' | 'COLD' }>;
type KnownReader = Extract<ReaderState, { status: 'READER' }>;

interface Reader {
  readonly tenant: TenantId;
  readonly topic: Topic;
  readonly actor: Actor;
  readonly at: MembersAt;
  readonly hidesToken: string;
}

/** What one reader gets of a shared read. */
interface Share {
  readonly state: ReaderState;
  readonly read: SharedRead;
}

/** Pages out of the hot set: only whole ones; everything else is left to MySQL and then filled in. */
@Injectable()
export class HotPages {
  /** Readers who ask for the same page while it is being read share the next reading of it. */
  private readonly reads = new Batches<Reader, Share>(MAX_READERS, (readers) => this.readAll(readers));

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
    const reader = readerOf(actor, topic, query);
    try {
      let share = await this.share(reader);
      if (share.state.status === 'NEEDS_ACCESS') {
        await this.groups.loadAccess(actor.tenant, topic, actor.uid);
        share = await this.share(reader);
      }
      return await this.answer(reader, share);
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
      if (row.seq <= to && !row.isVoid) members.set(row.seq, row.member);
    }
    this.redis.fill(tenant, topic, cold.generation, members).catch((error: Error) => {
      this.log.debug({ tenant, topic, error: error.message }, 'a hot set was not filled');
    });
  }

  private share(reader: Reader): Promise<Share> {
    const { tenant, topic, at } = reader;
    return this.reads.push(`${tenant} ${topic} ${at.direction} ${at.bound ?? ''} ${at.limit}`, reader);
  }

  private async readAll(readers: readonly Reader[]): Promise<Share[]> {
    const [{ tenant, topic, at }] = readers;
    const asking = readers.map(({ actor, hidesToken }) => ({ uid: actor.uid, hidesToken }));
    const isHot = this.policy.isHot(tenant, topic);
    const reply = await this.redis.page(tenant, topic, asking, isHot, isHot ? at : null);
    const read = new SharedRead(tenant, topic, at, reply, this.redis);
    return reply.readers.map((state) => ({ state, read }));
  }

  private async answer(reader: Reader, { state, read }: Share): Promise<HotAnswer> {
    const { tenant, topic } = reader;
    switch (state.status) {
      case 'NEEDS_ACCESS':
        return { kind: 'unknown' };
      case 'NOT_MEMBER':
      case 'NO_GROUP':
        return { kind: 'refused', code: 'NOT_MEMBER' };
      case 'DISMISSED':
        return { kind: 'refused', code: 'GROUP_DISMISSED' };
      case 'READER':
    }
    const { topic: known } = read.reply;
    if (known.status === 'DOUBT') this.rebases.rebaseInBackground(tenant, topic, known.doubt, known.epoch);
    if (known.status === 'DOUBT' || known.status === 'NOBODY') return { kind: 'unknown' };
    const head = this.heads.remember(tenant, topic, known);
    const page = known.status === 'HOT' ? await this.page(reader, state, known, read, head) : null;
    if (page) {
      const hidden = state.hides === 'none' ? new Set<number>() : null;
      return { kind: 'page', page, rights: { floor: state.floor, hidden } };
    }
    const hidden = await this.hidden(reader, state.hides);
    return { kind: 'cold', floor: state.floor, head, generation: known.generation, hidden };
  }

  /** @returns null when the set does not hold all of it, or the reader deleted a part of it for himself */
  private async page(
    { tenant, topic, actor }: Reader,
    { floor, hides }: KnownReader,
    { runId }: KnownTopic,
    read: SharedRead,
    head: TopicHead,
  ): Promise<TextPage | null> {
    if (hides === 'unknown') return null;
    const range = await read.range(floor, head);
    if (!range) return null;
    if (hides === 'some' && range.seqs.length > 0) {
      if ((await this.redis.hidesAny(tenant, topic, actor.uid, runId, range.seqs)) !== false) return null;
    }
    return range.page;
  }

  private async hidden(
    { tenant, topic, actor, hidesToken }: Reader,
    hides: 'none' | 'some' | 'unknown',
  ): Promise<ReadonlySet<number> | null> {
    if (hides === 'none') return new Set();
    if (hides === 'some') return null;
    const all = Number.MAX_SAFE_INTEGER;
    const seqs = await this.changes.hidden(tenant, topic, actor.uid, 0, all, MAX_HIDES + 1);
    if (seqs.length > MAX_HIDES) return null;
    this.redis.fillHides(tenant, topic, actor.uid, hidesToken, seqs).catch((error: Error) => {
      this.log.debug({ tenant, topic, error: error.message }, 'own deletions were not cached');
    });
    return new Set(seqs);
  }
}

interface ReadyPage {
  readonly page: TextPage;
  readonly seqs: readonly number[];
}

/** One reading of the hot set for all who asked for the same page; made into text once for all with the same rights. */
class SharedRead {
  private readonly ranges = new Map<number, Promise<ReadyPage | null>>();

  constructor(
    private readonly tenant: TenantId,
    private readonly topic: Topic,
    private readonly at: MembersAt,
    readonly reply: PageReply,
    private readonly redis: HotRedis,
  ) {}

  /** @param floor nothing at or below it may be read. @throws RedisUnavailable */
  range(floor: number, head: TopicHead): Promise<ReadyPage | null> {
    let range = this.ranges.get(floor);
    if (!range) {
      range = this.read(floor, head);
      this.ranges.set(floor, range);
    }
    return range;
  }

  private async read(floor: number, head: TopicHead): Promise<ReadyPage | null> {
    const { direction, bound, limit } = this.at;
    const from = direction === 'after' ? Math.max(bound!, floor) : bound;
    const members = (bound: number | null, limit: number): Promise<readonly Buffer[]> =>
      this.redis.members(this.tenant, this.topic, { direction, bound, limit: limit - 1 });
    const known = from === bound ? this.reply.members : null;
    // Whole up to the number that the page calls stable, which another read may have learnt meanwhile.
    const query = { topic: this.topic, direction, bound: from, limit, floor, stableSeq: head.stableSeq };
    const range = await readRange(query, known ?? (await members(from, limit + 1)), members);
    return range && readyPage(range, head);
  }
}

function readyPage({ entries, examined, hasMore }: HotRange, head: TopicHead): ReadyPage {
  const { stableSeq, lastSeq } = head;
  const page = new TextPage(arrayText(entries), {
    ...{ nextAfterSeq: examined, stableSeq, lastSeq, hasMore, source: 'hot' },
  });
  return { page, seqs: entries.map(({ seq }) => seq) };
}

function readerOf(actor: Actor, topic: Topic, query: HistoryQuery): Reader {
  const forward = query.afterSeq !== undefined;
  return {
    tenant: actor.tenant,
    topic,
    actor,
    at: {
      direction: forward ? 'after' : 'before',
      bound: (forward ? query.afterSeq : query.beforeSeq) ?? null,
      limit: query.limit,
    },
    hidesToken: randomUUID(),
  };
}
