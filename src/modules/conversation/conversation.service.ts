import { Injectable } from '@nestjs/common';
import { AppError } from '../../platform/errors/app-error.js';
import { compareIds, type Actor, type Topic } from '../../platform/ids/ids.js';
import { groupIdOf } from '../../platform/ids/topic.js';
import { GroupService } from '../group/group.service.js';
import type { HistoryPage, Message } from '../group-message/group-message.types.js';
import { MessagingService } from '../messaging/messaging.service.js';
import { CursorStore } from './cursor.store.js';

export interface Conversation {
  readonly topic: Topic;
  readonly name: string;
  readonly lastSeq: number;
  readonly readSeq: number;
  readonly unread: number;
  readonly lastMessage: Message | null;
}

export interface ConversationPage {
  readonly items: readonly Conversation[];
  readonly nextCursor: Topic | null;
}

/** A user's topics, each with its newest message as this reader may see it. */
@Injectable()
export class ConversationService {
  constructor(
    private readonly groups: GroupService,
    private readonly messaging: MessagingService,
    private readonly cursors: CursorStore,
  ) {}

  /** By group id; a topic that he left between two pages is missing, none comes twice. */
  async list(actor: Actor, cursor: Topic | undefined, limit: number): Promise<ConversationPage> {
    const all = await this.groups.topicsOf(actor.tenant, actor.uid);
    const after = cursor === undefined ? '0' : groupIdOf(cursor);
    const rest = all
      .filter((topic) => compareIds(groupIdOf(topic), after) > 0)
      .sort((a, b) => compareIds(groupIdOf(a), groupIdOf(b)));
    const topics = rest.slice(0, limit);
    const [names, read, unread] = await Promise.all([
      this.groups.namesOf(actor.tenant, topics),
      this.cursors.readSeqs(actor.tenant, actor.uid, topics),
      this.cursors.unread(actor.tenant, actor.uid, topics),
    ]);
    const items = await Promise.all(
      topics.map(async (topic) => {
        const page = await this.newest(actor, topic);
        if (!page) return [];
        return [
          {
            topic,
            name: names.get(topic) ?? '',
            lastSeq: page.lastSeq,
            readSeq: read.get(topic) ?? 0,
            unread: unread.get(topic) ?? 0,
            lastMessage: page.messages[0] ?? null,
          },
        ];
      }),
    );
    return { items: items.flat(), nextCursor: rest.length > limit ? topics[topics.length - 1] : null };
  }

  /** Null when the topic has ended for him since the list was read. */
  private async newest(actor: Actor, topic: Topic): Promise<HistoryPage | null> {
    try {
      return await this.messaging.history(actor, topic, { limit: 1 });
    } catch (error) {
      if (error instanceof AppError && (error.code === 'NOT_MEMBER' || error.code === 'GROUP_DISMISSED')) return null;
      throw error;
    }
  }

  /** How far the user has read each topic. */
  readSeqs(actor: Actor, topics: readonly Topic[]): Promise<Map<Topic, number>> {
    return this.cursors.readSeqs(actor.tenant, actor.uid, topics);
  }
}
