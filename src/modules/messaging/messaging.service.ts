import { Injectable } from '@nestjs/common';
import { AppError } from '../../platform/errors/app-error.js';
import type { Operator } from '../../platform/http/operator.js';
import { toAppError } from '../../platform/errors/to-app-error.js';
import { asSeq, type Actor, type Seq, type TenantId, type Topic } from '../../platform/ids/ids.js';
import { parseTopic, type TopicParts } from '../../platform/ids/topic.js';
import { TenantMetrics } from '../../platform/observe/tenant-metrics.js';
import { DirectMessageService } from '../direct-message/direct-message.service.js';
import { GroupMessageService } from '../group-message/group-message.service.js';
import type {
  HistoryPage,
  ChangeAnswer,
  ChangesPage,
  ContentProblem,
  HistoryQuery,
  Message,
  MessageChange,
  MessageDraft,
  MessageType,
  SendAnswer,
  TopicHead,
} from '../group-message/group-message.types.js';
import { findContentProblem, findHeadProblem } from './content.js';
import type { SendBodyDto } from './dto/send.dto.js';

type Kind = TopicParts['kind'];

/** What each kind of topic answers for its messages. */
interface MessagesOfKind {
  readonly sends: { send(actor: Actor, draft: MessageDraft): Promise<SendAnswer> };
  readonly history: {
    page(actor: Actor, topic: Topic, query: HistoryQuery): Promise<HistoryPage>;
    changes(actor: Actor, topic: Topic, afterChange: number, limit: number): Promise<ChangesPage>;
    roleOf(actor: Actor, topic: Topic): Promise<string>;
    head(tenant: TenantId, topic: Topic): Promise<TopicHead & { lastChange: number }>;
  };
  readonly changes: {
    apply(actor: Actor, topic: Topic, seq: Seq, change: MessageChange): Promise<ChangeAnswer>;
    block(tenant: TenantId, topic: Topic, seq: Seq, reason: string | null, by: Operator): Promise<ChangeAnswer>;
  };
  readonly hides: { hide(actor: Actor, topic: Topic, seqs: readonly Seq[]): Promise<void> };
}

/** The wire of all messages: what it says is checked here and handed to the module of the topic's kind. */
@Injectable()
export class MessagingService {
  constructor(
    private readonly groups: GroupMessageService,
    private readonly direct: DirectMessageService,
    private readonly metrics: TenantMetrics,
  ) {}

  async send(actor: Actor, topic: Topic, body: SendBodyDto): Promise<SendAnswer> {
    try {
      const answer = await this.checkAndSend(actor, topic, body);
      this.metrics.sent(actor.tenant, answer.duplicate ? 'duplicate' : 'stored');
      return answer;
    } catch (error) {
      this.metrics.sent(actor.tenant, toAppError(error).code);
      throw error;
    }
  }

  private checkAndSend(actor: Actor, topic: Topic, body: SendBodyDto): Promise<SendAnswer> {
    const problem = findContentProblem(body.type, body.content) ?? (body.head ? findHeadProblem(body.head) : null);
    if (problem) throw new AppError('VALIDATION_FAILED', { details: [problem] });
    return this.of(topic).sends.send(actor, draftOf(topic, body));
  }

  history(actor: Actor, topic: Topic, query: HistoryQuery): Promise<HistoryPage> {
    return this.of(topic).history.page(actor, topic, query);
  }

  /** One message as the caller may read it; null when there is none at that number, or he deleted it for himself. */
  async messageAt(actor: Actor, topic: Topic, seq: Seq): Promise<Message | null> {
    const { messages } = await this.history(actor, topic, { afterSeq: asSeq(seq - 1), limit: 1 });
    return messages[0]?.seq === seq ? messages[0] : null;
  }

  edit(actor: Actor, topic: Topic, seq: Seq, content: object, version: number): Promise<ChangeAnswer> {
    const check = (type: string): ContentProblem | null => findContentProblem(type as MessageType, content);
    return this.of(topic).changes.apply(actor, topic, seq, { kind: 'edit', content, version, check });
  }

  recall(actor: Actor, topic: Topic, seq: Seq): Promise<ChangeAnswer> {
    return this.of(topic).changes.apply(actor, topic, seq, { kind: 'recall' });
  }

  remove(actor: Actor, topic: Topic, seq: Seq): Promise<ChangeAnswer> {
    return this.of(topic).changes.apply(actor, topic, seq, { kind: 'remove' });
  }

  /** For everyone, by the operator. */
  block(tenant: TenantId, topic: Topic, seq: Seq, reason: string | null, by: Operator): Promise<ChangeAnswer> {
    return this.of(topic).changes.block(tenant, topic, seq, reason, by);
  }

  hide(actor: Actor, topic: Topic, seqs: readonly Seq[]): Promise<void> {
    return this.of(topic).hides.hide(actor, topic, seqs);
  }

  changes(actor: Actor, topic: Topic, afterChange: number, limit: number): Promise<ChangesPage> {
    return this.of(topic).history.changes(actor, topic, afterChange, limit);
  }

  /** The caller's role in a topic that he may read. */
  roleOf(actor: Actor, topic: Topic): Promise<string> {
    return this.of(topic).history.roleOf(actor, topic);
  }

  head(tenant: TenantId, topic: Topic): Promise<TopicHead & { lastChange: number }> {
    return this.of(topic).history.head(tenant, topic);
  }

  private of(topic: Topic): MessagesOfKind {
    const kind: Kind | undefined = parseTopic(topic)?.kind;
    if (kind === 'group') return this.groups;
    if (kind === 'p2p' || kind === 'self') return this.direct;
    throw new AppError('NOT_FOUND', {
      message: 'There is no such topic, or topics of this kind hold no messages yet.',
    });
  }
}

function draftOf(topic: Topic, body: SendBodyDto): MessageDraft {
  return {
    topic,
    clientMsgId: body.clientMsgId,
    type: body.type,
    content: body.content,
    head: body.head ?? null,
    mentionedUserIds: body.mentionedUserIds ?? [],
    mentionAll: body.mentionAll ?? false,
    replySeq: body.replySeq ?? null,
    rootSeq: body.rootSeq ?? null,
  };
}
