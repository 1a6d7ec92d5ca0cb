import { Injectable } from '@nestjs/common';
import type { ClientSocket } from '../../platform/socket/socket-client.js';
import { SocketEvent } from '../../platform/socket/socket-event.decorator.js';
import type { ChangeAnswer, ChangesPage } from '../group-message/group-message.types.js';
import { ChangesDto, EditDto, HideDto, SeqDto } from './dto/change.dto.js';
import { MessagingService } from './messaging.service.js';

/** Changes of messages by socket. */
@Injectable()
export class ChangeGateway {
  constructor(private readonly messaging: MessagingService) {}

  @SocketEvent('message:edit', EditDto)
  edit(client: ClientSocket, { topic, seq, content, version }: EditDto): Promise<ChangeAnswer> {
    return this.messaging.edit(client.data.actor, topic, seq, content, version);
  }

  @SocketEvent('message:recall', SeqDto)
  recall(client: ClientSocket, { topic, seq }: SeqDto): Promise<ChangeAnswer> {
    return this.messaging.recall(client.data.actor, topic, seq);
  }

  @SocketEvent('message:remove', SeqDto)
  remove(client: ClientSocket, { topic, seq }: SeqDto): Promise<ChangeAnswer> {
    return this.messaging.remove(client.data.actor, topic, seq);
  }

  @SocketEvent('message:delete', HideDto)
  hide(client: ClientSocket, { topic, seqs }: HideDto): Promise<void> {
    return this.messaging.hide(client.data.actor, topic, seqs);
  }

  @SocketEvent('topic:changes', ChangesDto, 'read')
  changes(client: ClientSocket, { topic, afterChange, limit }: ChangesDto): Promise<ChangesPage> {
    return this.messaging.changes(client.data.actor, topic, afterChange, limit);
  }
}
