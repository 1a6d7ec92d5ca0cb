import { Injectable } from '@nestjs/common';
import { AppError } from '../../platform/errors/app-error.js';
import type { Actor, Seq, TenantId, Topic } from '../../platform/ids/ids.js';
import { TenantDataSources } from '../../platform/mysql/tenant-data-sources.js';
import { changedMessage, messageOf, readPage, type PageRow } from '../group-message/group-message.service.js';
import type { ChangesPage, HistoryPage, HistoryQuery, TopicHead } from '../group-message/group-message.types.js';
import { MessageLogService } from '../message-log/message-log.service.js';
import { TopicService } from '../topic/topic.service.js';
import { DirectAccess } from './direct-access.js';
import { DirectFanout } from './direct-fanout.js';
import { DirectQuotes } from './direct-quotes.js';
import { DirectMessageStore } from './direct-message.store.js';

/** Reading a private chat, and deleting for oneself. A block does not take away what was said before it. */
@Injectable()
export class DirectHistoryService {
  constructor(
    private readonly access: DirectAccess,
    private readonly store: DirectMessageStore,
    private readonly messages: MessageLogService,
    private readonly quotes: DirectQuotes,
    private readonly topics: TopicService,
    private readonly databases: TenantDataSources,
    private readonly fanout: DirectFanout,
  ) {}

  /** @throws AppError NOT_MEMBER, NOT_FOUND (no such user), VALIDATION_FAILED (both bounds) */
  async page(actor: Actor, topic: Topic, query: HistoryQuery): Promise<HistoryPage> {
    if (query.afterSeq !== undefined && query.beforeSeq !== undefined) {
      throw new AppError('VALIDATION_FAILED', { message: 'Give afterSeq or beforeSeq, not both.' });
    }
    // The number before the rows: every message up to it is there.
    const { seq } = await this.access.read(actor, topic);
    const { tenant } = actor;
    const source = {
      after: (afterSeq: number, limit: number) => this.store.rowsAfter(tenant, topic, afterSeq, limit),
      before: (beforeSeq: number | null, floorSeq: number, limit: number) =>
        this.store.rowsBefore(tenant, topic, beforeSeq, floorSeq, limit),
      hidden: (rows: readonly PageRow[]) => this.hiddenAmong(actor, topic, rows),
    };
    const { page } = await readPage(source, query, 0, { stableSeq: seq, lastSeq: seq });
    return page.mayQuote ? page.with(await this.quotes.forReader(actor, topic, page.messages)) : page;
  }

  /** @throws AppError as `page` */
  async roleOf(actor: Actor, topic: Topic): Promise<string> {
    await this.access.read(actor, topic);
    return 'member';
  }

  /** How far the chat can be read; for its sides, who were checked before. Nothing is ever in flight. */
  async head(tenant: TenantId, topic: Topic): Promise<TopicHead & { lastChange: number }> {
    // The change first: its message is then below the head.
    const lastChange = await this.messages.lastChange(tenant, topic);
    const rows = await this.databases.run(tenant, (db) => this.topics.readDirect(db, [topic]));
    const seq = rows.get(topic)?.seq ?? 0;
    return { stableSeq: seq, lastSeq: seq, lastChange };
  }

  /** What was edited or recalled since. @throws AppError as `page` */
  async changes(actor: Actor, topic: Topic, afterChange: number, limit: number): Promise<ChangesPage> {
    await this.access.read(actor, topic);
    const lastChange = await this.messages.lastChange(actor.tenant, topic);
    const rows = await this.store.changesAfter(actor.tenant, topic, afterChange, limit + 1);
    const changes = rows.slice(0, limit).map((row) => changedMessage(messageOf(topic, row), Number(row.change_no)));
    const hasMore = rows.length > limit;
    const last = changes.at(-1)?.change ?? afterChange;
    return { changes, nextAfterChange: hasMore ? last : Math.max(last, lastChange), lastChange, hasMore };
  }

  /** Hides messages from their reader alone, on all his devices. @throws AppError as `page` */
  async hide(actor: Actor, topic: Topic, seqs: readonly Seq[]): Promise<void> {
    await this.access.read(actor, topic);
    const found = await this.store.existing(actor.tenant, topic, seqs);
    if (found.length === 0) return;
    await this.messages.hide(actor.tenant, topic, actor.uid, found);
    this.fanout.hidden(actor.tenant, actor.uid, topic, found);
  }

  private async hiddenAmong(
    { tenant, uid }: Actor,
    topic: Topic,
    rows: readonly PageRow[],
  ): Promise<ReadonlySet<number>> {
    if (rows.length === 0) return new Set();
    const seqs = rows.map((row) => row.seq);
    const [from, to] = [Math.min(...seqs), Math.max(...seqs)];
    return new Set(await this.messages.hidden(tenant, topic, uid, from, to, rows.length));
  }
}
