import { Injectable } from '@nestjs/common';
import type { Actor, Seq, TenantId, Topic, UserId } from '../../platform/ids/ids.js';
import { Logger } from '../../platform/observe/logger.js';
import { RedisUnavailable } from '../../platform/redis/redis-scripts.js';
import { GroupService } from '../group/group.service.js';
import { ChangeStore } from './change.store.js';
import { GroupMessageStore } from './group-message.store.js';
import type { Message, Quote } from './group-message.types.js';
import { HotRedis } from './hot.redis.js';
import { messageOf } from './message-row.js';
import { quotedSeq, quoteOf } from './quote.js';

/** Quotes of one answer; the newest of them when there are more. */
const MAX_QUOTES = 64;
/** A frame does not wait longer for its quotes. */
const FRAME_WAIT_MS = 300;

/** What a reader may not see. */
export interface QuoteRights {
  /** Nothing at or below it. */
  readonly floor: number;
  /** What he deleted for himself; null = ask. */
  readonly hidden: ReadonlySet<number> | null;
}

/**
 * Composes what quoting messages show of the quoted ones, whenever they are read: a message holds only the seq. Whoever may
 * not read the quoted message gets no quote of it.
 */
@Injectable()
export class QuoteService {
  constructor(
    private readonly hot: HotRedis,
    private readonly store: GroupMessageStore,
    private readonly changes: ChangeStore,
    private readonly groups: GroupService,
    private readonly log: Logger,
  ) {}

  /** Quotes of a page, ascending by seq; what cannot be read now is left out. @param messages that the reader may read */
  async forReader(
    { tenant, uid }: Actor,
    topic: Topic,
    messages: readonly Message[],
    { floor, hidden }: QuoteRights,
  ): Promise<Quote[]> {
    const seqs = wanted(messages).filter((seq) => seq > floor);
    const present = new Map(messages.map((message) => [message.seq, message]));
    const absent = seqs.filter((seq) => !present.has(seq));
    const found = await this.readable(tenant, topic, uid, absent, hidden).catch((error: Error) => {
      // The page itself is there; it must not be lost for what stands beside it.
      this.log.debug({ tenant, topic, error: error.message }, 'a page goes without some quotes');
      return [];
    });
    return [...seqs.flatMap((seq) => present.get(seq) ?? []), ...found].sort((a, b) => a.seq - b.seq).map(quoteOf);
  }

  /**
   * Quotes of a frame, which is the same for everybody: only of what everybody may read, that is in a group whose history is
   * open, and deleted by nobody for himself. Never fails; what is not found in time is left out.
   */
  async forAll(tenant: TenantId, topic: Topic, messages: readonly Message[]): Promise<Quote[]> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<Quote[]>((resolve) => {
      timer = setTimeout(() => resolve([]), FRAME_WAIT_MS);
    });
    const composed = this.compose(tenant, topic, messages).catch((error: Error) => {
      this.log.debug({ tenant, topic, error: error.message }, 'a frame goes without its quotes');
      return [];
    });
    return Promise.race([composed, late]).finally(() => clearTimeout(timer));
  }

  private async compose(tenant: TenantId, topic: Topic, messages: readonly Message[]): Promise<Quote[]> {
    const seqs = wanted(messages);
    const [found, hidden] = await Promise.all([
      this.find(tenant, topic, seqs),
      this.changes.hiddenByAnybody(tenant, topic, seqs),
    ]);
    // Last, so that nobody who joined after history was closed can hear of what came before him.
    const { historyForNewMembers } = await this.groups.loadAccess(tenant, topic, messages[0].from);
    if (!historyForNewMembers) return [];
    return found.filter(({ seq }) => !hidden.has(seq)).map(quoteOf);
  }

  private async readable(
    tenant: TenantId,
    topic: Topic,
    uid: UserId,
    seqs: readonly Seq[],
    hidden: ReadonlySet<number> | null,
  ): Promise<Message[]> {
    if (seqs.length === 0) return [];
    const gone = hidden ?? (await this.changes.hiddenOf(tenant, topic, uid, seqs));
    return this.find(
      tenant,
      topic,
      seqs.filter((seq) => !gone.has(seq)),
    );
  }

  /** Copies from the hot set, the rest from MySQL in one query; ascending by seq. */
  private async find(tenant: TenantId, topic: Topic, seqs: readonly Seq[]): Promise<Message[]> {
    if (seqs.length === 0) return [];
    const copies = await this.hot.find(tenant, topic, seqs).catch((error: unknown) => {
      if (error instanceof RedisUnavailable) return new Map<number, Message | null>();
      throw error;
    });
    const left = seqs.filter((seq) => !copies.has(seq));
    const rows = left.length === 0 ? [] : await this.store.rowsOf(tenant, topic, left);
    const messages = [...copies.values(), ...rows.map((row) => messageOf(topic, row))];
    return messages.filter((message) => message !== null).sort((a, b) => a.seq - b.seq);
  }
}

/** The newest of the quoted seqs, each once. */
export function wanted(messages: readonly Message[]): Seq[] {
  const seqs = new Set(messages.map(quotedSeq).filter((seq) => seq !== null));
  return [...seqs].sort((a, b) => b - a).slice(0, MAX_QUOTES);
}
