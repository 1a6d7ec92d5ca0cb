import { Injectable } from '@nestjs/common';
import { ArrayMaxSize, ArrayMinSize, IsArray } from 'class-validator';
import { ConversationService } from '../modules/conversation/conversation.service.js';
import { MessagingService } from '../modules/messaging/messaging.service.js';
import { PresenceService } from '../modules/presence/presence.service.js';
import { toAppError } from '../platform/errors/to-app-error.js';
import { AppError, type ErrorBody } from '../platform/errors/app-error.js';
import { IsTopicName } from '../platform/http/rules.js';
import type { Topic } from '../platform/ids/ids.js';
import { isDirect } from '../platform/ids/topic.js';
import { aFewAtATime } from '../platform/mysql/a-few-at-a-time.js';
import { topicRoom } from '../platform/socket/rooms.js';
import type { ClientSocket } from '../platform/socket/socket-client.js';
import { SocketEvent } from '../platform/socket/socket-event.decorator.js';
import { SocketServer } from '../platform/socket/socket-server.js';
import { MembershipService } from './membership.service.js';

class TopicsDto {
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(200)
  @IsTopicName({ each: true })
  topics: Topic[];
}

const NOT_HEARD = 'Messages of other nodes are not heard right now; pull, and subscribe again.';

interface TopicAnswer {
  readonly topic: Topic;
  readonly lastSeq?: number;
  readonly stableSeq?: number;
  readonly lastChange?: number;
  readonly readSeq?: number;
  readonly role?: string | null;
  /** Members who are online; null while that cannot be known. */
  readonly onlineCount?: number | null;
  readonly error?: ErrorBody;
}

/** What a socket hears. */
@Injectable()
export class TopicGateway {
  constructor(
    private readonly messaging: MessagingService,
    private readonly conversations: ConversationService,
    private readonly membership: MembershipService,
    private readonly sockets: SocketServer,
    private readonly presence: PresenceService,
  ) {}

  /** Each topic has its own answer: one that is refused does not fail the others. */
  @SocketEvent('topic:subscribe', TopicsDto, 'read')
  async subscribe(client: ClientSocket, { topics }: TopicsDto): Promise<{ topics: TopicAnswer[] }> {
    const wanted = [...new Set(topics)];
    const read = await this.conversations.readSeqs(client.data.actor, wanted);
    const answer = (topic: Topic): Promise<TopicAnswer> => this.subscribeTo(client, topic, read.get(topic) ?? 0);
    // Groups are asked of Redis, all in one; private chats are each a query.
    const [direct, others] = await Promise.all([
      aFewAtATime(wanted.filter(isDirect), answer),
      Promise.all(wanted.filter((topic) => !isDirect(topic)).map(answer)),
    ]);
    const answers = new Map([...direct, ...others].map((each) => [each.topic, each]));
    return { topics: wanted.map((topic) => answers.get(topic)!) };
  }

  @SocketEvent('topic:unsubscribe', TopicsDto, 'read')
  async unsubscribe(client: ClientSocket, { topics }: TopicsDto): Promise<void> {
    for (const topic of topics) await client.leave(topicRoom(client.data.actor.tenant, topic));
  }

  private async subscribeTo(client: ClientSocket, topic: Topic, readSeq: number): Promise<TopicAnswer> {
    const { actor } = client.data;
    try {
      const check = (): Promise<string> => this.messaging.roleOf(actor, topic);
      // Private chats come to the room of the user, which each of his sockets is in.
      const role = isDirect(topic) ? await check() : await this.membership.join(client, topic, check);
      // Without Redis they go on; what the other nodes say then is pulled.
      // The head comes after the subscription took effect: what is stored later is heard.
      if (!(await this.sockets.subscribed()) && !isDirect(topic)) {
        throw new AppError('SHORT_STATE_UNAVAILABLE', { message: NOT_HEARD, retryAfterMs: 1000 });
      }
      const [head, onlineCount] = await Promise.all([
        this.messaging.head(actor.tenant, topic),
        isDirect(topic) ? null : this.presence.onlineCount(actor.tenant, topic),
      ]);
      return { topic, ...head, readSeq, role, onlineCount };
    } catch (error) {
      return { topic, error: toAppError(error).toBody() };
    }
  }
}
