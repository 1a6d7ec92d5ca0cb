import { Injectable } from '@nestjs/common';
import { compareIds, type Actor, type Topic } from '../../platform/ids/ids.js';
import { groupIdOf } from '../../platform/ids/topic.js';
import { GroupService } from '../group/group.service.js';
import type { Message } from '../group-message/group-message.types.js';
import { MessagingService } from '../messaging/messaging.service.js';

export interface Conversation {
  readonly topic: Topic;
  readonly name: string;
  readonly lastSeq: number;
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
  ) {}

  /** By group id; a topic that he left between two pages is missing, none comes twice. */
  async list(actor: Actor, cursor: Topic | undefined, limit: number): Promise<ConversationPage> {
    const all = await this.groups.topicsOf(actor.tenant, actor.uid);
    const after = cursor === undefined ? '0' : groupIdOf(cursor);
    const rest = all
      .filter((topic) => compareIds(groupIdOf(topic), after) > 0)
      .sort((a, b) => compareIds(groupIdOf(a), groupIdOf(b)));
    const topics = rest.slice(0, limit);
    const names = await this.groups.namesOf(actor.tenant, topics);
    const items = await Promise.all(topics.map((topic) => this.describe(actor, topic, names.get(topic) ?? '')));
    return { items, nextCursor: rest.length > limit ? topics[topics.length - 1] : null };
  }

  private async describe(actor: Actor, topic: Topic, name: string): Promise<Conversation> {
    const page = await this.messaging.history(actor, topic, { limit: 1 });
    return { topic, name, lastSeq: page.lastSeq, lastMessage: page.messages[0] ?? null };
  }
}
