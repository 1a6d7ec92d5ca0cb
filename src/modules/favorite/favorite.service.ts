import { Injectable } from '@nestjs/common';
import { AppError } from '../../platform/errors/app-error.js';
import type { Actor, Seq, Topic } from '../../platform/ids/ids.js';
import { userRoom } from '../../platform/socket/rooms.js';
import { SocketServer } from '../../platform/socket/socket-server.js';
import { aFewAtATime } from '../../platform/mysql/a-few-at-a-time.js';
import { MessagingService } from '../messaging/messaging.service.js';
import type { Message } from '../messaging/messaging.types.js';
import { FavoriteCache } from './favorite.redis.js';
import { FavoriteStore } from './favorite.store.js';
import type { Favorite, FavoriteRef, FavoritesPage } from './favorite.types.js';

/** Most favourites of a user. */
const MOST = 1_000;
/** So many of the newest are kept in Redis; a longer page is read from MySQL. */
const NEWEST = 101;

/** Messages that a user keeps at hand. What they say is composed on each read: a recalled one shows nothing. */
@Injectable()
export class FavoriteService {
  constructor(
    private readonly store: FavoriteStore,
    private readonly cache: FavoriteCache,
    private readonly messaging: MessagingService,
    private readonly sockets: SocketServer,
  ) {}

  /** @param beforeId `nextCursor` of the page before */
  async list(actor: Actor, beforeId: string | null, limit: number): Promise<FavoritesPage> {
    const refs = await this.refs(actor, beforeId, limit + 1);
    const items = await aFewAtATime(refs.slice(0, limit), (ref) => this.compose(actor, ref));
    return { items, nextCursor: refs.length > limit ? refs[limit - 1].id : null };
  }

  /**
   * Repeating it changes nothing.
   * @throws AppError NOT_MEMBER, GROUP_DISMISSED, NOT_FOUND (no message there that he may read), CONFLICT (too many)
   */
  async add(actor: Actor, topic: Topic, seq: Seq): Promise<Favorite> {
    // 1. Check.
    const message = await this.messaging.messageAt(actor, topic, seq);
    if (!message) throw new AppError('NOT_FOUND');
    if ((await this.store.count(actor.tenant, actor.uid)) >= MOST) {
      throw new AppError('CONFLICT', { message: `No more than ${MOST} favourites. Remove one first.` });
    }
    // 2. Write.
    const ref = await this.store.add(actor.tenant, actor.uid, topic, seq);
    // 3. After the commit: the cached copy goes, and the own devices are told.
    await this.changed(actor, topic, seq, true);
    return { ...ref, message };
  }

  /** Also of what he may not read any more; repeating it changes nothing. */
  async remove(actor: Actor, topic: Topic, seq: Seq): Promise<void> {
    await this.store.remove(actor.tenant, actor.uid, topic, seq);
    await this.changed(actor, topic, seq, false);
  }

  private async refs({ tenant, uid }: Actor, beforeId: string | null, limit: number): Promise<readonly FavoriteRef[]> {
    if (beforeId !== null || limit > NEWEST) return this.store.list(tenant, uid, beforeId, limit);
    const newest = await this.cache.newest.get(tenant, uid, () => this.store.list(tenant, uid, null, NEWEST));
    return (newest ?? []).slice(0, limit);
  }

  private async compose(actor: Actor, ref: FavoriteRef): Promise<Favorite> {
    return { ...ref, message: await this.readable(actor, ref) };
  }

  private async readable(actor: Actor, { topic, seq }: FavoriteRef): Promise<Message | null> {
    try {
      return await this.messaging.messageAt(actor, topic, seq);
    } catch (error) {
      if (error instanceof AppError && !error.retryable) return null;
      throw error;
    }
  }

  /** A Redis failure does not undo what is stored: the copy goes as soon as Redis answers. */
  private async changed({ tenant, uid }: Actor, topic: Topic, seq: Seq, kept: boolean): Promise<void> {
    await this.cache.newest.invalidate(tenant, [uid]);
    this.sockets.emit(userRoom(tenant, uid), 'favorite:changed', { topic, seq, kept });
  }
}
