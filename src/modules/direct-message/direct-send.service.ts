import { Injectable } from '@nestjs/common';
import { AppError, invalid } from '../../platform/errors/app-error.js';
import { toAppError } from '../../platform/errors/to-app-error.js';
import { asSeq, type Actor } from '../../platform/ids/ids.js';
import { Metrics } from '../../platform/observe/metrics.js';
import { bodyOf, type MessageBody } from '../group-message/group-message.service.js';
import type { MessageDraft, SendAnswer } from '../group-message/group-message.types.js';
import { DirectAccess } from './direct-access.js';
import { DirectMessageStore, type StoredDirect } from './direct-message.store.js';
import { DirectWriter } from './direct-writer.js';

/** How often one send is decided anew because the permissions change under it. */
const MAX_DECISIONS = 5;

/**
 * Sending to a private chat or the file assistant. The promise is that of groups: an acknowledged message is stored, once,
 * under a number of its own. MySQL numbers these chats by itself, so Redis is not needed.
 */
@Injectable()
export class DirectSendService {
  private readonly sends;

  constructor(
    private readonly access: DirectAccess,
    private readonly writer: DirectWriter,
    private readonly store: DirectMessageStore,
    metrics: Metrics,
  ) {
    this.sends = metrics.counter('im_direct_sends_total', 'Sends to private chats by result', ['result']);
  }

  /**
   * Stores a message once and tells both sides.
   * @throws AppError NOT_MEMBER, NOT_FOUND (no such user), BLOCKED, FORBIDDEN (mentionAll), VALIDATION_FAILED (a reference to
   * no message), IDEMPOTENCY_CONFLICT, OVERLOADED, STORAGE_UNAVAILABLE; a retryable one may be repeated with the same id
   */
  async send(actor: Actor, draft: MessageDraft): Promise<SendAnswer> {
    try {
      const answer = await this.sendOnce(actor, bodyOf(draft, new Date()));
      this.sends.inc({ result: answer.duplicate ? 'duplicate' : 'stored' });
      return answer;
    } catch (error) {
      this.sends.inc({ result: toAppError(error).code });
      throw error;
    }
  }

  private async sendOnce(actor: Actor, body: MessageBody): Promise<SendAnswer> {
    const { draft } = body;
    const { topic } = draft;
    for (let decision = 1; decision <= MAX_DECISIONS; decision += 1) {
      // 1. Check. A retry of a message that is stored is answered as such, whatever has changed since.
      const problem = await this.problem(actor, draft);
      if ('error' in problem) {
        const stored = await this.store.findByClientId(actor.tenant, topic, actor.uid, draft.clientMsgId);
        if (stored) return answerOf(stored, body, true);
        throw problem.error;
      }
      // 2. Number and store, in one transaction that sees whether the permissions are still those. 3. Both sides are told.
      const { aclVersion } = problem;
      const outcome = await this.writer.append(actor.tenant, topic, { from: actor.uid, body, aclVersion });
      if (outcome.kind !== 'stale') return answerOf(outcome.stored, body, outcome.kind === 'known');
    }
    throw new AppError('OVERLOADED', { retryAfterMs: 500 });
  }

  /** What speaks against the message, or the version of the permissions that allow it. */
  private async problem(
    actor: Actor,
    draft: MessageDraft,
  ): Promise<{ readonly error: AppError } | { readonly aclVersion: number }> {
    const { refused, aclVersion } = await this.access.maySpeak(actor, draft.topic);
    if (refused) return { error: new AppError(refused) };
    if (draft.mentionAll) {
      return { error: new AppError('FORBIDDEN', { message: 'Only groups have somebody to mention all of.' }) };
    }
    const seqs = { replySeq: draft.replySeq, rootSeq: draft.rootSeq };
    for (const [field, seq] of Object.entries(seqs)) {
      if (seq === null) continue;
      const found = await this.store.existing(actor.tenant, draft.topic, [seq]);
      if (found.length === 0) return { error: invalid(field, 'must be the seq of a message of this topic') };
    }
    return { aclVersion };
  }
}

/** @throws AppError IDEMPOTENCY_CONFLICT when what is stored is another message */
function answerOf(stored: StoredDirect, body: MessageBody, duplicate: boolean): SendAnswer {
  if (!stored.digest.equals(body.digest)) throw new AppError('IDEMPOTENCY_CONFLICT');
  return {
    seq: asSeq(stored.seq),
    messageId: stored.id,
    createdAt: stored.createdAt.toISOString(),
    duplicate,
  };
}
