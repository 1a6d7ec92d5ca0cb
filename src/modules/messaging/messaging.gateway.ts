import { Injectable } from '@nestjs/common';
import type { ClientSocket } from '../../platform/socket/socket-client.js';
import { SocketEvent } from '../../platform/socket/socket-event.decorator.js';
import type { RawJson } from '../../platform/wire/raw-json.js';
import type { SendAnswer } from '../group-message/group-message.types.js';
import { HistoryDto } from './dto/history.dto.js';
import { SendDto } from './dto/send.dto.js';
import { MessagingService } from './messaging.service.js';

/** Messages by socket. */
@Injectable()
export class MessagingGateway {
  constructor(private readonly messaging: MessagingService) {}

  @SocketEvent('message:send', SendDto, 'send')
  send(client: ClientSocket, dto: SendDto): Promise<SendAnswer> {
    return this.messaging.send(client.data.actor, dto.topic, dto);
  }

  @SocketEvent('message:history', HistoryDto, 'read')
  async history(client: ClientSocket, dto: HistoryDto): Promise<RawJson> {
    const page = await this.messaging.history(client.data.actor, dto.topic, dto);
    return page.answer;
  }
}
