import { Injectable } from '@nestjs/common';
import { AppError } from '../../platform/errors/app-error.js';
import type { Actor, Seq, Topic } from '../../platform/ids/ids.js';
import { GroupService } from '../group/group.service.js';
import { decide } from '../group/group.types.js';
import { ChangeStore } from './change.store.js';
import { FanoutService } from './fanout.service.js';
import { HotRedis } from './hot.redis.js';

/** Deleting messages for oneself. */
@Injectable()
export class HideService {
  constructor(
    private readonly store: ChangeStore,
    private readonly hot: HotRedis,
    private readonly groups: GroupService,
    private readonly fanout: FanoutService,
  ) {}

  /**
   * Hides messages from their reader alone, on all his devices; numbers that hold no message are passed over.
   * @throws AppError NOT_MEMBER, GROUP_DISMISSED; SHORT_STATE_UNAVAILABLE (retryable) when the copies of what he hid
   * cannot be removed: a hidden message could come back
   */
  async hide(actor: Actor, topic: Topic, seqs: readonly Seq[]): Promise<void> {
    const access = await this.groups.loadAccess(actor.tenant, topic, actor.uid);
    const refused = decide(access, 'read', Date.now());
    if (refused) throw new AppError(refused);
    const hidden = await this.store.hide(actor.tenant, topic, actor.uid, seqs);
    // After the commit: whoever loads from now on finds them, and older loads can no longer be filled in.
    try {
      await this.hot.forgetHides(actor.tenant, topic, actor.uid);
    } catch (error) {
      throw new AppError('SHORT_STATE_UNAVAILABLE', {
        message: 'The deletion is stored but not in force everywhere yet; repeat the call.',
        retryAfterMs: 1000,
        cause: error,
      });
    }
    if (hidden.length > 0) this.fanout.hidden(actor.tenant, actor.uid, topic, hidden);
  }
}
