import { Injectable } from '@nestjs/common';
import { AppError } from '../../platform/errors/app-error.js';
import type { Actor } from '../../platform/ids/ids.js';
import { UserService } from '../user/user.service.js';
import { ConversationRedis } from './conversation.redis.js';
import { ConversationService } from './conversation.service.js';
import type { Bootstrap, FirstScreen } from './conversation.types.js';

const FIRST_PAGE = 50;

/**
 * What a client shows first, in one call. Kept for 10 s without what was said: messages and presence are composed on each
 * read, and a conversation that is no longer his is left out then.
 */
@Injectable()
export class BootstrapService {
  constructor(
    private readonly users: UserService,
    private readonly conversations: ConversationService,
    private readonly redis: ConversationRedis,
  ) {}

  async of(actor: Actor): Promise<Bootstrap> {
    const { tenant, uid } = actor;
    const screen = await this.redis.bootstrap.get(tenant, uid, () => this.firstScreen(actor));
    if (!screen) throw new AppError('NOT_FOUND');
    const items = await this.conversations.compose(actor, screen.items);
    const { user, totalUnread, nextCursor } = screen;
    return { user, topics: { items, nextCursor }, totalUnread, serverTime: new Date().toISOString() };
  }

  /** After the user changed something of it himself. Never throws. */
  async forget({ tenant, uid }: Actor): Promise<void> {
    await this.redis.bootstrap.invalidate(tenant, [uid]);
  }

  private async firstScreen(actor: Actor): Promise<FirstScreen> {
    const [user, { heads, nextCursor }, { totalUnread }] = await Promise.all([
      this.users.ownProfile(actor.tenant, actor.uid),
      this.conversations.heads(actor, undefined, FIRST_PAGE),
      this.conversations.unread(actor),
    ]);
    return { user, items: heads, nextCursor, totalUnread };
  }
}
