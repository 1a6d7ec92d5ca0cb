import { Injectable } from '@nestjs/common';
import type { ClientSocket } from '../../platform/socket/socket-client.js';
import { SocketEvent } from '../../platform/socket/socket-event.decorator.js';
import { CursorService } from './cursor.service.js';
import { CursorDto } from './dto/cursor.dto.js';

/** Read and received cursors by socket. */
@Injectable()
export class ConversationGateway {
  constructor(private readonly cursors: CursorService) {}

  @SocketEvent('topic:read', CursorDto, 'read')
  async read(
    client: ClientSocket,
    { topic, seq }: CursorDto,
  ): Promise<{ readSeq: number; unread: number; totalUnread: number }> {
    const { actor } = client.data;
    const { readSeq } = await this.cursors.raise(actor, topic, { readSeq: seq });
    return { readSeq, ...(await this.cursors.unread(actor, topic)) };
  }

  @SocketEvent('topic:received', CursorDto, 'read')
  async received(client: ClientSocket, { topic, seq }: CursorDto): Promise<{ receivedSeq: number }> {
    const { receivedSeq } = await this.cursors.raise(client.data.actor, topic, { receivedSeq: seq });
    return { receivedSeq };
  }
}
