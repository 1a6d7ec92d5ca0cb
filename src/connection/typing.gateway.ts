import { Injectable } from '@nestjs/common';
import { MessagingService } from '../modules/messaging/messaging.service.js';
import { PresenceService } from '../modules/presence/presence.service.js';
import { RelationService } from '../modules/relation/relation.service.js';
import { AppError } from '../platform/errors/app-error.js';
import { IsTopicName } from '../platform/http/rules.js';
import type { Actor, Topic, UserId } from '../platform/ids/ids.js';
import { parseTopic } from '../platform/ids/topic.js';
import { topicRoom, userRoom } from '../platform/socket/rooms.js';
import type { ClientSocket } from '../platform/socket/socket-client.js';
import { SocketEvent } from '../platform/socket/socket-event.decorator.js';
import { SocketServer } from '../platform/socket/socket-server.js';

class TypingDto {
  @IsTopicName()
  topic: Topic;
}

/** Above it nobody is told: every keystroke of thousands would cost more than their messages. */
const MOST_ONLINE = 500;
/** In one topic a user is told once in this time. */
const PAUSE_MS = 1_000;
/** Events of one socket in a window, told or not. */
const MOST_IN_WINDOW = 20;
const WINDOW_MS = 10_000;

interface Pair {
  readonly low: UserId;
  readonly high: UserId;
}

/** What a socket typed lately; only those that type have it. */
interface Typing {
  windowEndMs: number;
  count: number;
  readonly toldAtMs: Map<Topic, number>;
}

/** "Is typing": lost without harm, so it never waits for anything and is never told again. */
@Injectable()
export class TypingGateway {
  private readonly typing = new WeakMap<ClientSocket, Typing>();

  constructor(
    private readonly messaging: MessagingService,
    private readonly presence: PresenceService,
    private readonly relations: RelationService,
    private readonly sockets: SocketServer,
  ) {}

  /** @throws AppError NOT_MEMBER, BLOCKED, GROUP_DISMISSED, NOT_FOUND, RATE_LIMITED */
  @SocketEvent('topic:typing', TypingDto, 'read')
  async type(client: ClientSocket, { topic }: TypingDto): Promise<void> {
    const isNew = this.count(client, topic);
    const parts = parseTopic(topic);
    if (parts?.kind === 'p2p') return this.tellPeer(client.data.actor, topic, parts, isNew);
    return this.tellMembers(client, topic, isNew);
  }

  /** The two of a private chat hear each other in the rooms of their own. */
  private async tellPeer(actor: Actor, topic: Topic, { low, high }: Pair, isNew: boolean): Promise<void> {
    if (actor.uid !== low && actor.uid !== high) throw new AppError('NOT_MEMBER');
    const peer = actor.uid === low ? high : low;
    const refusal = await this.relations.mayStartChat(actor.tenant, actor.uid, peer);
    if (refusal) throw new AppError(refusal);
    if (isNew) this.sockets.emit(userRoom(actor.tenant, peer), 'topic:typing', { topic, uid: actor.uid });
  }

  private async tellMembers(client: ClientSocket, topic: Topic, isNew: boolean): Promise<void> {
    const { actor } = client.data;
    const room = topicRoom(actor.tenant, topic);
    // Whoever is in the room is a member: a kick has taken him out before it was acknowledged.
    if (!client.rooms.has(room)) await this.messaging.roleOf(actor, topic);
    if (!isNew) return;
    const online = await this.presence.onlineCount(actor.tenant, topic);
    if (online === null || online > MOST_ONLINE) return;
    this.sockets.emitExcept(room, userRoom(actor.tenant, actor.uid), 'topic:typing', { topic, uid: actor.uid });
  }

  /** @returns whether it has to be told, and was not just before */
  private count(client: ClientSocket, topic: Topic): boolean {
    const now = performance.now();
    let typing = this.typing.get(client);
    if (!typing || typing.windowEndMs <= now) {
      typing = { windowEndMs: now + WINDOW_MS, count: 0, toldAtMs: new Map() };
      this.typing.set(client, typing);
    }
    typing.count += 1;
    if (typing.count > MOST_IN_WINDOW) {
      throw new AppError('RATE_LIMITED', { retryAfterMs: Math.ceil(typing.windowEndMs - now) });
    }
    if (now - (typing.toldAtMs.get(topic) ?? -Infinity) < PAUSE_MS) return false;
    typing.toldAtMs.set(topic, now);
    return true;
  }
}
