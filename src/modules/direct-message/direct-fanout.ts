import { Injectable } from '@nestjs/common';
import type { Seq, TenantId, Topic, UserId } from '../../platform/ids/ids.js';
import { Logger } from '../../platform/observe/logger.js';
import type { ServerEventName, ServerEvents } from '../../platform/socket/events.js';
import { userRoom } from '../../platform/socket/rooms.js';
import { RawJson } from '../../platform/wire/raw-json.js';
import { SocketServer } from '../../platform/socket/socket-server.js';
import { changedMessage, quotingMessage, type PageRow } from '../group-message/group-message.service.js';
import type { Message, Quote } from '../group-message/group-message.types.js';
import { sidesOf } from './direct-access.js';
import { DirectQuotes } from './direct-quotes.js';

/**
 * Realtime delivery of private chats, after the acknowledgement was decided: it can fail without failing anything. Frames go
 * to the rooms of both users, which each of their sockets is in; nobody has to subscribe.
 */
@Injectable()
export class DirectFanout {
  /** Frames that wait for their quotes, by chat. */
  private readonly ends = new Map<string, Promise<void>>();

  constructor(
    private readonly sockets: SocketServer,
    private readonly quotes: DirectQuotes,
    private readonly log: Logger,
  ) {}

  /** @param rows ascending by seq, of one commit: together they fit a frame */
  messages(tenant: TenantId, topic: Topic, rows: readonly PageRow[]): void {
    const before = this.ends.get(`${tenant} ${topic}`);
    const quoting = rows.flatMap(({ text }) => quotingMessage(text) ?? []);
    const send = (quotes: readonly Quote[]): void =>
      this.tell(tenant, topic, sidesOf(topic), 'messages', frameOf(topic, rows, quotes));
    if (!before && quoting.length === 0) return send([]);
    this.inOrder(tenant, topic, before, async () => send(await this.quotes.forBoth(tenant, topic, quoting)));
  }

  changed(tenant: TenantId, topic: Topic, message: Message, change: number): void {
    this.tell(tenant, topic, sidesOf(topic), 'message:changed', changedMessage(message, change));
  }

  /** Tells a user's own devices what he deleted for himself. */
  hidden(tenant: TenantId, uid: UserId, topic: Topic, seqs: readonly Seq[]): void {
    this.tell(tenant, topic, [uid], 'message:hidden', { topic, seqs });
  }

  /** What became of a message could not be found out: both sides look for themselves. */
  resync(tenant: TenantId, topic: Topic): void {
    this.tell(tenant, topic, sidesOf(topic), 'topic:resync', { topics: [topic] });
  }

  /** Frames of a chat leave one after the other, also while one waits for its quotes. */
  private inOrder(tenant: TenantId, topic: Topic, before: Promise<void> | undefined, work: () => Promise<void>): void {
    const key = `${tenant} ${topic}`;
    const end = (before ?? Promise.resolve()).then(work).finally(() => {
      if (this.ends.get(key) === end) this.ends.delete(key);
    });
    this.ends.set(key, end);
  }

  private tell<E extends ServerEventName>(
    tenant: TenantId,
    topic: Topic,
    uids: readonly UserId[],
    event: E,
    payload: ServerEvents[E] | RawJson,
  ): void {
    for (const uid of uids) {
      try {
        this.sockets.emit(userRoom(tenant, uid), event, payload);
      } catch (error) {
        this.log.error({ tenant, topic, event, error: (error as Error).message }, 'a frame was not sent');
      }
    }
  }
}

/** A `MessagesFrame` out of texts. */
function frameOf(topic: Topic, rows: readonly PageRow[], quotes: readonly Quote[]): RawJson {
  const stableSeq = rows[rows.length - 1].seq;
  return new RawJson(
    `{"topic":"${topic}","messages":[${rows.map(({ text }) => text).join(',')}],"voids":[],"stableSeq":${stableSeq}` +
      `${quotes.length === 0 ? '' : `,"quotes":${JSON.stringify(quotes)}`}}`,
  );
}
