import { Injectable } from '@nestjs/common';
import { AppError } from '../../platform/errors/app-error.js';
import { asSeq, type Actor, type TenantId, type Topic } from '../../platform/ids/ids.js';
import { TenantDataSources } from '../../platform/mysql/tenant-data-sources.js';
import { Metrics } from '../../platform/observe/metrics.js';
import { GroupService } from '../group/group.service.js';
import { decide, type GroupAccess, type GroupRole } from '../group/group.types.js';
import { GroupMessageStore } from './group-message.store.js';
import type { HistoryPage, HistoryQuery, Message, TopicHead } from './group-message.types.js';
import { HeadService } from './head.service.js';
import { messageOf, type MessageRow } from './message-row.js';

/** A page ends when its messages reach this size, with at least one. */
const MAX_PAGE_BYTES = 128 * 1024;

/** Reading a group: pages and heads, for members only. A database error is an error, never a hole. */
@Injectable()
export class HistoryService {
  private readonly requests;

  constructor(
    private readonly store: GroupMessageStore,
    private readonly heads: HeadService,
    private readonly groups: GroupService,
    private readonly tenants: TenantDataSources,
    metrics: Metrics,
  ) {
    this.requests = metrics.counter('im_history_requests_total', 'Pages read', ['reason', 'source']);
  }

  /**
   * @throws AppError NOT_MEMBER, GROUP_DISMISSED (history ends with the group), VALIDATION_FAILED (both bounds)
   */
  async page(actor: Actor, topic: Topic, query: HistoryQuery): Promise<HistoryPage> {
    if (query.afterSeq !== undefined && query.beforeSeq !== undefined) {
      throw new AppError('VALIDATION_FAILED', { message: 'Give afterSeq or beforeSeq, not both.' });
    }
    const access = await this.readable(actor, topic);
    const floor = access.historyForNewMembers ? 0 : access.joinedSeq;
    // Before the rows: what is stored after this was read may be missing from the page, but is not called stable.
    const head = await this.heads.read(actor.tenant, topic);
    const forward = query.afterSeq !== undefined;
    this.requests.inc({ reason: forward ? 'catch-up' : 'browse', source: 'mysql' });
    return forward
      ? this.forwardPage(actor, topic, query.afterSeq!, floor, query.limit, head)
      : this.backwardPage(actor, topic, query.beforeSeq ?? null, floor, query.limit, head);
  }

  /** @throws AppError NOT_MEMBER, GROUP_DISMISSED */
  async roleOf(actor: Actor, topic: Topic): Promise<GroupRole> {
    return (await this.readable(actor, topic)).role!;
  }

  /** How far the topic can be read; for members only, who were checked before. */
  head(tenant: TenantId, topic: Topic): Promise<TopicHead> {
    return this.heads.read(tenant, topic);
  }

  /** Membership always comes from MySQL here: what a kicked member may still read must never be a matter of a cache. */
  private async readable(actor: Actor, topic: Topic): Promise<GroupAccess> {
    const access = await this.tenants.run(actor.tenant, (db) => this.groups.accessFromMysql(db, topic, actor.uid));
    const code = decide(access, 'read', Date.now());
    if (code) throw new AppError(code);
    return access;
  }

  private async forwardPage(
    actor: Actor,
    topic: Topic,
    afterSeq: number,
    floor: number,
    limit: number,
    head: TopicHead,
  ): Promise<HistoryPage> {
    const messages: Message[] = [];
    const size = new PageSize();
    let examined = Math.max(afterSeq, floor);
    for (;;) {
      const wanted = limit - messages.length + 1;
      const rows = await this.store.rowsAfter(actor.tenant, topic, examined, wanted);
      for (const row of rows) {
        const message = visible(topic, row);
        if (message && (messages.length === limit || !size.fits(row))) {
          return this.finish(messages, examined, head, true);
        }
        if (message) messages.push(message);
        examined = Number(row.seqid);
      }
      if (rows.length < wanted) return this.finish(messages, examined, head, false);
    }
  }

  private async backwardPage(
    actor: Actor,
    topic: Topic,
    beforeSeq: number | null,
    floor: number,
    limit: number,
    head: TopicHead,
  ): Promise<HistoryPage> {
    const messages: Message[] = [];
    const size = new PageSize();
    let before = beforeSeq;
    for (;;) {
      const wanted = limit - messages.length + 1;
      const rows = await this.store.rowsBefore(actor.tenant, topic, before, floor, wanted);
      for (const row of rows) {
        const message = visible(topic, row);
        if (message && (messages.length === limit || !size.fits(row))) {
          return this.finish(messages.reverse(), newestOf(messages), head, true);
        }
        if (message) messages.push(message);
        before = Number(row.seqid);
      }
      if (rows.length < wanted) return this.finish(messages.reverse(), newestOf(messages), head, false);
    }
  }

  private finish(messages: Message[], examined: number, head: TopicHead, hasMore: boolean): HistoryPage {
    return { messages, nextAfterSeq: asSeq(examined), ...head, hasMore, source: 'mysql' };
  }
}

/** Void rows are examined and never shown. */
function visible(topic: Topic, row: MessageRow): Message | null {
  return row.status === 'void' ? null : messageOf(topic, row);
}

const newestOf = (ascending: readonly Message[]): number => ascending.at(-1)?.seq ?? 0;

/** Counts the bytes of a page's messages. */
class PageSize {
  private bytes = 0;
  private rows = 0;

  /** The first message always fits. */
  fits(row: MessageRow): boolean {
    this.bytes +=
      Buffer.byteLength(row.content ?? '') + (row.head?.length ?? 0) + (row.mentioned_user_ids?.length ?? 0) + 400;
    this.rows += 1;
    return this.rows === 1 || this.bytes <= MAX_PAGE_BYTES;
  }
}
