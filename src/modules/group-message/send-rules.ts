import { Injectable } from '@nestjs/common';
import { AppError, invalid } from '../../platform/errors/app-error.js';
import type { Actor } from '../../platform/ids/ids.js';
import { RateLimiter } from '../../platform/redis/rate-limiter.js';
import { GroupService } from '../group/group.service.js';
import { decide } from '../group/group.types.js';
import { GroupMessageStore } from './group-message.store.js';
import type { MessageDraft } from './group-message.types.js';

/** Everybody's attention: this often an hour for one sender in one group. */
const MENTION_ALL_PER_HOUR = 10;
const HOUR_SECONDS = 3600;

/** Has it anything that `SendRules.check` looks at? A plain message has not. */
export const needsCheck = ({ mentionAll, replySeq, rootSeq }: MessageDraft): boolean =>
  mentionAll || replySeq !== null || rootSeq !== null;

/** Checks that only some messages need. */
@Injectable()
export class SendRules {
  constructor(
    private readonly groups: GroupService,
    private readonly store: GroupMessageStore,
    private readonly limiter: RateLimiter,
  ) {}

  /** @throws AppError FORBIDDEN, RATE_LIMITED (mentionAll), NOT_MEMBER, VALIDATION_FAILED (a reference to no message) */
  async check(actor: Actor, draft: MessageDraft): Promise<void> {
    const references = { replySeq: draft.replySeq, rootSeq: draft.rootSeq };
    // A retry of a message that is stored must be answered as such, whatever has changed since.
    if (await this.store.findByClientId(actor.tenant, draft.topic, actor.uid, draft.clientMsgId)) return;
    const access = await this.groups.loadAccess(actor.tenant, draft.topic, actor.uid);
    const refused = decide(access, draft.mentionAll ? 'mentionAll' : 'send', Date.now());
    if (refused) throw new AppError(refused);
    for (const [field, seq] of Object.entries(references)) {
      if (seq === null) continue;
      const row = await this.store.rowAt(actor.tenant, draft.topic, seq);
      if (!row || row.status === 'void') throw invalid(field, 'must be the seq of a message of this topic');
    }
    if (draft.mentionAll) {
      const subject = `${draft.topic}:${actor.uid}`;
      // One id is one message, however often it is sent again.
      const { clientMsgId } = draft;
      await this.limiter.takeOnce(
        actor.tenant,
        'mention-all',
        subject,
        clientMsgId,
        MENTION_ALL_PER_HOUR,
        HOUR_SECONDS,
      );
    }
  }
}
