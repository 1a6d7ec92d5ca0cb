import { Injectable } from '@nestjs/common';
import { AppError } from '../../platform/errors/app-error.js';
import { asSeq, type Actor, type TenantId, type Topic } from '../../platform/ids/ids.js';
import { TenantDataSources } from '../../platform/mysql/tenant-data-sources.js';
import { Metrics } from '../../platform/observe/metrics.js';
import { GroupService } from '../group/group.service.js';
import { decide, type GroupAccess, type GroupRole } from '../group/group.types.js';
import { ChangeStore } from './change.store.js';
import type { HistoryPage, ChangesPage, HistoryQuery, TopicHead } from './group-message.types.js';
import { HeadService } from './head.service.js';
import { HotPages } from './hot-pages.js';
import { changedMessage, messageOf } from './message-row.js';
import { MysqlPages } from './mysql-pages.js';
import { QuoteService, type QuoteRights } from './quote.service.js';
import type { TextPage } from './history-page.js';

interface ReadForReader {
  readonly page: TextPage;
  readonly rights: QuoteRights;
}

/** Reading a group: pages, heads and changes, for members only. A database error is an error, never a hole. */
@Injectable()
export class HistoryService {
  private readonly requests;

  constructor(
    private readonly hot: HotPages,
    private readonly mysql: MysqlPages,
    private readonly heads: HeadService,
    private readonly groups: GroupService,
    private readonly changeStore: ChangeStore,
    private readonly quotes: QuoteService,
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
    const { page, rights } = await this.read(actor, topic, query);
    this.requests.inc({ reason: query.afterSeq === undefined ? 'browse' : 'catch-up', source: page.source });
    return page.mayQuote ? page.with(await this.quotes.forReader(actor, topic, page.messages, rights)) : page;
  }

  /** @throws AppError NOT_MEMBER, GROUP_DISMISSED */
  async roleOf(actor: Actor, topic: Topic): Promise<GroupRole> {
    return (await this.readable(actor, topic)).role!;
  }

  /** How far the topic can be read; for members only, who were checked before. */
  async head(tenant: TenantId, topic: Topic): Promise<TopicHead & { lastChange: number }> {
    const [head, lastChange] = await Promise.all([
      this.heads.read(tenant, topic),
      this.changeStore.lastChange(tenant, topic),
    ]);
    return { ...head, lastChange };
  }

  /** What was edited, recalled or removed since; for clients that were away. @throws AppError as `page` */
  async changes(actor: Actor, topic: Topic, afterChange: number, limit: number): Promise<ChangesPage> {
    const floor = floorOf(await this.readable(actor, topic));
    const lastChange = await this.changeStore.lastChange(actor.tenant, topic);
    const rows = await this.changeStore.changesAfter(actor.tenant, topic, afterChange, floor, limit + 1);
    const changes = rows.slice(0, limit).map((row) => changedMessage(messageOf(topic, row), Number(row.change_no)));
    const hasMore = rows.length > limit;
    const last = changes.at(-1)?.change ?? afterChange;
    return { changes, nextAfterChange: hasMore ? last : Math.max(last, lastChange), lastChange, hasMore };
  }

  private async read(actor: Actor, topic: Topic, query: HistoryQuery): Promise<ReadForReader> {
    // Head and, if it is whole, the page itself: one round trip, and before any row is read.
    const answer = await this.hot.ask(actor, topic, query);
    if (answer.kind === 'page') return answer;
    if (answer.kind === 'refused') throw new AppError(answer.code);
    if (answer.kind === 'cold') {
      const { floor, head, hidden } = answer;
      const { page, examined } = await this.mysql.read(actor, topic, query, floor, head, hidden);
      this.hot.refill(actor.tenant, topic, answer, examined);
      return { page, rights: { floor, hidden } };
    }
    // Redis says nothing: permission and rows come from MySQL, the head is what this node knows for sure.
    const floor = floorOf(await this.readable(actor, topic));
    const head = await this.heads.read(actor.tenant, topic);
    const { page } = await this.mysql.read(actor, topic, query, floor, head);
    return { page, rights: { floor, hidden: null } };
  }

  private async readable(actor: Actor, topic: Topic): Promise<GroupAccess> {
    const access = await this.tenants.run(actor.tenant, (db) => this.groups.accessFromMysql(db, topic, actor.uid));
    const code = decide(access, 'read', Date.now());
    if (code) throw new AppError(code);
    return access;
  }
}

const floorOf = (access: GroupAccess): number => (access.historyForNewMembers ? 0 : asSeq(access.joinedSeq));
