import { Injectable } from '@nestjs/common';
import type { Actor, Seq, TenantId, Topic } from '../../platform/ids/ids.js';
import { Logger } from '../../platform/observe/logger.js';
import { messageOf, quoteOf, wantedQuotes } from '../group-message/group-message.service.js';
import type { Message, Quote } from '../group-message/group-message.types.js';
import { MessageLogService } from '../message-log/message-log.service.js';
import { DirectMessageStore } from './direct-message.store.js';

/** Composes what quoting messages show of the quoted ones, whenever they are read. */
@Injectable()
export class DirectQuotes {
  constructor(
    private readonly store: DirectMessageStore,
    private readonly messages: MessageLogService,
    private readonly log: Logger,
  ) {}

  /** Quotes of a page, ascending by seq, without what its reader deleted for himself. */
  forReader({ tenant, uid }: Actor, topic: Topic, messages: readonly Message[]): Promise<Quote[]> {
    return this.compose(tenant, topic, messages, (seqs) => this.messages.hiddenOf(tenant, topic, uid, seqs));
  }

  /** Quotes of a frame, which both sides get: without what one of them deleted for himself. Never fails. */
  async forBoth(tenant: TenantId, topic: Topic, messages: readonly Message[]): Promise<Quote[]> {
    try {
      return await this.compose(tenant, topic, messages, (seqs) => this.messages.hiddenByAnybody(tenant, topic, seqs));
    } catch (error) {
      this.log.debug({ tenant, topic, error: (error as Error).message }, 'a frame goes without its quotes');
      return [];
    }
  }

  private async compose(
    tenant: TenantId,
    topic: Topic,
    messages: readonly Message[],
    hidden: (seqs: readonly Seq[]) => Promise<Set<number>>,
  ): Promise<Quote[]> {
    const seqs = wantedQuotes(messages);
    if (seqs.length === 0) return [];
    const gone = await hidden(seqs);
    const rows = await this.store.rowsOf(tenant, topic, seqs);
    return rows.filter((row) => !gone.has(Number(row.seqid))).map((row) => quoteOf(messageOf(topic, row)));
  }
}
