import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Actor, TenantId, Topic, UserId } from '../../platform/ids/ids.js';
import { parseTopic } from '../../platform/ids/topic.js';
import { Logger } from '../../platform/observe/logger.js';
import { topicRoom, userRoom } from '../../platform/socket/rooms.js';
import { SocketServer } from '../../platform/socket/socket-server.js';
import { GroupService } from '../group/group.service.js';
import { MessagingService } from '../messaging/messaging.service.js';
import { RelationService } from '../relation/relation.service.js';
import { BootstrapService } from './bootstrap.service.js';
import { ConversationService } from './conversation.service.js';
import { CursorStore, NO_CURSOR, type Cursor } from './cursor.store.js';

/** In bigger groups nobody hears how far others have read. */
const MAX_MEMBERS_TOLD = 200;
/** How long the size of a group is taken for known. */
const SIZE_TTL_MS = 30_000;

/** How far a user has read: clamped to what there is, never going back, the same on all his devices. */
@Injectable()
export class CursorService {
  private readonly sizes = new LRUCache<string, number>({ max: 10_000, ttl: SIZE_TTL_MS });

  constructor(
    private readonly store: CursorStore,
    private readonly messaging: MessagingService,
    private readonly groups: GroupService,
    private readonly relations: RelationService,
    private readonly conversations: ConversationService,
    private readonly bootstrap: BootstrapService,
    private readonly sockets: SocketServer,
    private readonly log: Logger,
  ) {}

  /** @throws AppError NOT_MEMBER, GROUP_DISMISSED, NOT_FOUND */
  async raise(actor: Actor, topic: Topic, to: Partial<Cursor>): Promise<Cursor> {
    const { tenant, uid } = actor;
    await this.messaging.roleOf(actor, topic);
    const { lastSeq } = await this.messaging.head(tenant, topic);
    const clamp = (seq: number | undefined): number | undefined =>
      seq === undefined ? undefined : Math.min(seq, lastSeq);
    const before = (await this.store.cursors(tenant, uid, [topic])).get(topic) ?? NO_CURSOR;
    const cursor = await this.store.raise(tenant, topic, uid, {
      readSeq: clamp(to.readSeq),
      receivedSeq: clamp(to.receivedSeq),
    });
    const moved = cursor.readSeq > before.readSeq || cursor.receivedSeq > before.receivedSeq;
    if (!moved) return cursor;
    await this.bootstrap.forget(actor);
    this.sockets.emit(userRoom(tenant, uid), 'topic:cursor', { topic, uid, ...cursor });
    this.tellOthers(actor, topic, cursor).catch((error: Error) => {
      this.log.debug({ tenant, topic, error: error.message }, 'others were not told how far a user has read');
    });
    return cursor;
  }

  async unread(actor: Actor, topic: Topic): Promise<{ unread: number; totalUnread: number }> {
    const { totalUnread, topics } = await this.conversations.unread(actor);
    return { unread: topics.find((one) => one.topic === topic)?.unread ?? 0, totalUnread };
  }

  private async tellOthers({ tenant, uid }: Actor, topic: Topic, cursor: Cursor): Promise<void> {
    const change = { topic, uid, ...cursor };
    const parts = parseTopic(topic);
    if (parts?.kind === 'p2p') {
      const peer: UserId = parts.low === uid ? parts.high : parts.low;
      if (await this.relations.blockedEitherWay(tenant, uid, peer)) return;
      this.sockets.emit(userRoom(tenant, peer), 'topic:cursor', change);
    } else if (parts?.kind === 'group' && (await this.sizeOf(tenant, topic)) <= MAX_MEMBERS_TOLD) {
      this.sockets.emitExcept(topicRoom(tenant, topic), userRoom(tenant, uid), 'topic:cursor', change);
    }
  }

  private async sizeOf(tenant: TenantId, topic: Topic): Promise<number> {
    const key = `${tenant} ${topic}`;
    let size = this.sizes.get(key);
    if (size === undefined) this.sizes.set(key, (size = await this.groups.memberCount(tenant, topic)));
    return size;
  }
}
