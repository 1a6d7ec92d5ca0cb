import { Injectable } from '@nestjs/common';
import type { Actor, Topic } from '../../platform/ids/ids.js';
import { userRoom } from '../../platform/socket/rooms.js';
import { SocketServer } from '../../platform/socket/socket-server.js';
import { GroupService } from '../group/group.service.js';
import { MessagingService } from '../messaging/messaging.service.js';
import { CursorStore, type Cursor } from './cursor.store.js';

export interface CursorChange {
  readonly topic: Topic;
  readonly uid: string;
  readonly readSeq?: number;
  readonly receivedSeq?: number;
}

declare module '../../platform/socket/events.js' {
  interface ServerEvents {
    'topic:cursor': CursorChange;
  }
}

/** How far a user has read: clamped to what there is, never going back, the same on all his devices. */
@Injectable()
export class CursorService {
  constructor(
    private readonly store: CursorStore,
    private readonly messaging: MessagingService,
    private readonly groups: GroupService,
    private readonly sockets: SocketServer,
  ) {}

  /** @throws AppError NOT_MEMBER, GROUP_DISMISSED */
  async raise(actor: Actor, topic: Topic, to: Partial<Cursor>): Promise<Cursor> {
    await this.messaging.roleOf(actor, topic);
    const { lastSeq } = await this.messaging.head(actor.tenant, topic);
    const clamp = (seq: number | undefined): number | undefined =>
      seq === undefined ? undefined : Math.min(seq, lastSeq);
    const cursor = await this.store.raise(actor.tenant, topic, actor.uid, {
      readSeq: clamp(to.readSeq),
      receivedSeq: clamp(to.receivedSeq),
    });
    this.sockets.emit(userRoom(actor.tenant, actor.uid), 'topic:cursor', { topic, uid: actor.uid, ...cursor });
    return cursor;
  }

  async unread(actor: Actor, topic: Topic): Promise<{ unread: number; totalUnread: number }> {
    const topics = await this.groups.topicsOf(actor.tenant, actor.uid);
    const counts = await this.store.unread(actor.tenant, actor.uid, topics);
    const totalUnread = [...counts.values()].reduce((sum, count) => sum + count, 0);
    return { unread: counts.get(topic) ?? 0, totalUnread };
  }
}
