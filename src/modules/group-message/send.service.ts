import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { AppError } from '../../platform/errors/app-error.js';
import { toAppError } from '../../platform/errors/to-app-error.js';
import { asSeq, type Actor } from '../../platform/ids/ids.js';
import { Metrics } from '../../platform/observe/metrics.js';
import { AdmissionService } from './admission.service.js';
import { BatchWriter, isAway, type AppendOutcome } from './batch-writer.js';
import { FanoutService } from './fanout.service.js';
import type { Claimant } from './group-message.redis.js';
import type { StoredMessage } from './group-message.store.js';
import type { MessageDraft, SendAnswer } from './group-message.types.js';
import { bodyOf, freshRow, pendingRow, type MessageBody, type PendingRow } from './message-row.js';
import { RebaseService } from './rebase.service.js';
import { needsCheck, SendRules } from './send-rules.js';
import { isOver, TombstoneService } from './tombstone.service.js';

/** How often one send is admitted anew after its epoch ended under it. */
const MAX_ADMISSIONS = 5;

/** A histogram whose labels are bound: looking them up costs more than observing. */
interface Hop {
  observe(value: number): void;
}

/** A send between two hops: what is known of it. */
interface Attempt {
  readonly actor: Actor;
  readonly claimant: Claimant;
  readonly body: MessageBody;
}

/** The row that was admitted, and whether an earlier attempt of the same message was abandoned. */
interface Admitted {
  readonly row: PendingRow;
  readonly hotGeneration: string;
  readonly takenOver: boolean;
}

/**
 * Sending to a group. The promise: a message that was acknowledged is in MySQL, has a number that no other message of its
 * topic has or will have, and is stored once however often the client retries. Safety never depends on a clock, on what
 * Redis still knows, or on what was delivered in realtime.
 */
@Injectable()
export class SendService {
  private readonly results;
  private readonly total: Hop;
  private readonly admitting: Hop;
  private readonly appending: Hop;
  private readonly settling: Hop;
  private underWay = 0;

  constructor(
    private readonly rules: SendRules,
    private readonly admission: AdmissionService,
    private readonly writer: BatchWriter,
    private readonly tombstones: TombstoneService,
    private readonly rebases: RebaseService,
    private readonly fanout: FanoutService,
    metrics: Metrics,
  ) {
    const sends = metrics.counter('im_sends_total', 'Sends by result', ['result']);
    this.results = { stored: sends.labels('stored'), duplicate: sends.labels('duplicate'), other: sends };
    const seconds = metrics.histogram('im_send_seconds', 'Time of a send by hop; only total covers failed ones', [
      'hop',
    ]);
    this.total = seconds.labels('total');
    this.admitting = seconds.labels('admit');
    this.appending = seconds.labels('append');
    this.settling = seconds.labels('settle');
    metrics.observed('im_sends_in_flight', 'Sends that wait for their answer', () => this.underWay);
  }

  /**
   * Stores a message once and tells the members.
   * @throws AppError as the protocol page lists for `message:send`; a retryable one may be repeated with the same client id
   */
  async send(actor: Actor, draft: MessageDraft): Promise<SendAnswer> {
    this.underWay += 1;
    const started = performance.now();
    try {
      const answer = await this.sendOnce(attemptOf(actor, draft));
      (answer.duplicate ? this.results.duplicate : this.results.stored).inc();
      return answer;
    } catch (error) {
      this.results.other.inc({ result: toAppError(error).code });
      throw error;
    } finally {
      observe(this.total, started);
      this.underWay -= 1;
    }
  }

  private async sendOnce(attempt: Attempt): Promise<SendAnswer> {
    const { actor, claimant, body } = attempt;
    // 1. Check: what is referred to, and the room in the queue, before anything is claimed or numbered.
    if (needsCheck(body.draft)) await this.rules.check(actor, body.draft);
    const room = this.writer.reserve(actor.tenant, body.bytes);
    try {
      for (let round = 1; round <= MAX_ADMISSIONS; round += 1) {
        // 2. Admit: permission, claim and number in one script.
        const started = performance.now();
        const admission = await this.admission.admit(claimant);
        const admittedAt = observe(this.admitting, started);
        if (admission.status === 'DONE') return repeated(admission.stored);
        const { takenOver, hotGeneration } = admission;
        const row = pendingRow(body, actor.uid, admission);
        // 3. Append: fenced group commit. 4. Settle, then tell.
        const outcome = await this.writer.append(actor.tenant, row);
        observe(this.appending, admittedAt);
        const admitted = { row, takenOver, hotGeneration };
        if (outcome.kind === 'stored') return await this.stored(attempt, admitted, outcome.id);
        const answer = await this.conclude(attempt, admitted, outcome);
        if (answer) return answer;
      }
    } finally {
      room.release();
    }
    throw new AppError('SEQ_UNAVAILABLE', { retryAfterMs: 500 });
  }

  /** @returns the answer, or null when the message has to be admitted anew */
  private async conclude(
    attempt: Attempt,
    admitted: Admitted,
    outcome: Exclude<AppendOutcome, { kind: 'stored' }>,
  ): Promise<SendAnswer | null> {
    const { row } = admitted;
    switch (outcome.kind) {
      case 'duplicate':
        return this.duplicate(attempt, admitted, outcome.stored);
      case 'seq-taken':
        await this.rebase(attempt, row, 'seq-taken');
        return null;
      case 'fenced':
        await this.rebase(attempt, row, 'fenced');
        return null;
      case 'denied':
        await this.abandon(attempt, row);
        throw new AppError(outcome.code);
      case 'not-stored':
      case 'unknown':
        return this.resolve(attempt, admitted, outcome);
    }
  }

  private async stored({ actor, claimant, body }: Attempt, admitted: Admitted, id: string): Promise<SendAnswer> {
    const { row, hotGeneration } = admitted;
    const { seq, epoch } = row;
    const fresh = freshRow(row, id);
    const started = performance.now();
    const claim = { status: 'done', seq, messageId: id, createdAt: body.time } as const;
    const copy = { row: fresh, generation: hotGeneration };
    const stable = await this.admission.settle(claimant, { epoch, release: seq, claim }, copy);
    observe(this.settling, started);
    this.fanout.message(actor.tenant, row.topic, fresh, stable ?? 0);
    return { seq, messageId: id, createdAt: body.time, duplicate: false };
  }

  /** Redis had forgotten, or an earlier attempt died: the row that is there is the answer, and the fresh number is void. */
  private async duplicate(attempt: Attempt, admitted: Admitted, stored: StoredMessage): Promise<SendAnswer> {
    const { row, takenOver } = admitted;
    const release = isOver(await this.tombstones.write(attempt.actor.tenant, row)) ? row.seq : null;
    if (!stored.digest.equals(row.body.digest)) {
      await this.admission.settle(attempt.claimant, { epoch: row.epoch, release, claim: { status: 'failed' } });
      throw new AppError('IDEMPOTENCY_CONFLICT');
    }
    const { seq, id, createdAt } = stored;
    const claim = { status: 'done', seq, messageId: id, createdAt: createdAt.toISOString() } as const;
    await this.admission.settle(attempt.claimant, { epoch: row.epoch, release, claim });
    // Its first writer may have died between storing and telling; clients drop what they know already.
    if (takenOver) await this.fanout.again(attempt.actor, row.topic, stored.seq);
    return repeated(stored);
  }

  /**
   * The row was not stored, or nobody knows. A look-up that finds nothing proves nothing, the server may still commit: the
   * tombstone decides, since it waits for the open transaction.
   */
  private async resolve(
    attempt: Attempt,
    admitted: Admitted,
    outcome: { readonly kind: 'not-stored' | 'unknown'; readonly error: unknown },
  ): Promise<SendAnswer | null> {
    const { row } = admitted;
    const error = toAppError(outcome.error);
    // While the storage is away nothing can be written, a tombstone as little: the deadline ends the epoch.
    const hopeless = outcome.kind === 'not-stored' && isAway(outcome);
    const result = hopeless ? 'unknown' : await this.tombstones.write(attempt.actor.tenant, row);
    if (typeof result === 'object') return this.stored(attempt, admitted, result.id);
    if (result === 'fenced') {
      await this.rebase(attempt, row, 'fenced');
      return null;
    }
    // Known not to be stored: the same id may be sent again at once. Unknown: the entry stays in flight and the claim
    // pending, until the deadline ends the epoch.
    const known = isOver(result) || outcome.kind === 'not-stored';
    await this.admission.settle(attempt.claimant, {
      epoch: row.epoch,
      release: isOver(result) ? row.seq : null,
      claim: known ? { status: 'failed' } : null,
    });
    throw outcome.kind === 'not-stored' && error.code === 'INTERNAL'
      ? error
      : new AppError('STORAGE_UNAVAILABLE', { cause: outcome.error, retryAfterMs: 500 });
  }

  private async abandon(attempt: Attempt, row: PendingRow): Promise<void> {
    const release = isOver(await this.tombstones.write(attempt.actor.tenant, row)) ? row.seq : null;
    await this.admission.settle(attempt.claimant, { epoch: row.epoch, release, claim: { status: 'failed' } });
  }

  private async rebase(attempt: Attempt, row: PendingRow, reason: 'fenced' | 'seq-taken'): Promise<void> {
    try {
      await this.rebases.rebase(attempt.actor.tenant, row.topic, reason, row.epoch);
    } catch (error) {
      throw new AppError('SEQ_UNAVAILABLE', { cause: error, retryAfterMs: 1000 });
    }
  }
}

/** @returns the present moment */
function observe(hop: Hop, startedMs: number): number {
  const now = performance.now();
  hop.observe((now - startedMs) / 1000);
  return now;
}

const PROCESS_TOKEN = randomBytes(12).toString('base64url');
let attempts = 0;

/** A token that no other attempt of any process has. */
const nextOwner = (): string => `${PROCESS_TOKEN}.${(attempts += 1).toString(36)}`;

function attemptOf(actor: Actor, draft: MessageDraft): Attempt {
  const body = bodyOf(draft, new Date());
  return {
    actor,
    body,
    claimant: {
      tenant: actor.tenant,
      topic: draft.topic,
      uid: actor.uid,
      clientMsgId: draft.clientMsgId,
      owner: nextOwner(),
      digest: body.digestHex,
      createdAt: body.time,
    },
  };
}

const repeated = (stored: Omit<StoredMessage, 'digest'>): SendAnswer => ({
  seq: asSeq(stored.seq),
  messageId: stored.id,
  createdAt: stored.createdAt.toISOString(),
  duplicate: true,
});
