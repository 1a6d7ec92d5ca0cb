import { Injectable } from '@nestjs/common';
import { AppError } from '../../platform/errors/app-error.js';
import { toAppError } from '../../platform/errors/to-app-error.js';
import { asSeq, type TenantId, type Topic } from '../../platform/ids/ids.js';
import { errnoOf, isDeadlock, isLockWait, isUnavailable } from '../../platform/mysql/mysql-errors.js';
import { CommitUnknown } from '../../platform/mysql/writer-pool.js';
import { Metrics } from '../../platform/observe/metrics.js';
import { freshRow } from '../group-message/group-message.service.js';
import { DirectFanout } from './direct-fanout.js';
import { DirectMessageStore, type DirectOutcome, type DirectSend } from './direct-message.store.js';
import { OpenOutcomes } from './open-outcomes.js';

/** Transactions of one tenant at once: its other calls must always find a connection. */
const MAX_TRANSACTIONS = 4;
const MAX_BATCH_ROWS = 50;
/** One commit is told in one frame, whose limit is 128 KiB. */
const MAX_BATCH_BYTES = 100 * 1024;
/** What a message has beside its texts, a quote included. */
const ENVELOPE_BYTES = 1_900;
/** Sends of one tenant that may wait in this node, and their bytes. */
const MAX_WAITING = 5_000;
const MAX_WAITING_BYTES = 32 * 1024 * 1024;

interface Waiting {
  readonly send: DirectSend;
  readonly resolve: (outcome: DirectOutcome) => void;
  readonly reject: (error: unknown) => void;
}

interface Failed {
  readonly kind: 'failed';
  readonly error: unknown;
}

/** Sends of one chat, in the order they came; one commit at a time. */
class Lane {
  readonly waiting: Waiting[] = [];
  active = false;

  constructor(readonly topic: Topic) {}
}

class TenantLanes {
  readonly lanes = new Map<Topic, Lane>();
  readonly ready: Lane[] = [];
  transactions = 0;
  rows = 0;
  bytes = 0;
}

/**
 * Stores what is sent to private chats. A chat's sends queue here and not at its row's lock: what piles up leaves in one
 * commit, and a burst in one chat takes one connection, not all. Chats take turns.
 */
@Injectable()
export class DirectWriter {
  private readonly tenants = new Map<TenantId, TenantLanes>();
  private readonly seconds;

  constructor(
    private readonly store: DirectMessageStore,
    private readonly fanout: DirectFanout,
    private readonly open: OpenOutcomes,
    metrics: Metrics,
  ) {
    this.seconds = metrics.histogram('im_direct_append_seconds', 'Time of one commit of a private chat');
  }

  /**
   * Stores one message and tells both sides.
   * @throws AppError OVERLOADED, STORAGE_UNAVAILABLE (the outcome may be open; the same id settles it)
   */
  append(tenant: TenantId, topic: Topic, send: DirectSend): Promise<DirectOutcome> {
    const lanes = this.lanesOf(tenant);
    if (lanes.rows >= MAX_WAITING || lanes.bytes + send.body.bytes > MAX_WAITING_BYTES) {
      throw new AppError('OVERLOADED', { retryAfterMs: 1000 });
    }
    lanes.rows += 1;
    lanes.bytes += send.body.bytes;
    return new Promise<DirectOutcome>((resolve, reject) => {
      let lane = lanes.lanes.get(topic);
      if (!lane) lanes.lanes.set(topic, (lane = new Lane(topic)));
      lane.waiting.push({ send, resolve, reject });
      this.enqueue(lanes, lane);
      this.pump(tenant, lanes);
    }).finally(() => {
      lanes.rows -= 1;
      lanes.bytes -= send.body.bytes;
      if (lanes.rows === 0) this.tenants.delete(tenant);
    });
  }

  private lanesOf(tenant: TenantId): TenantLanes {
    let lanes = this.tenants.get(tenant);
    if (!lanes) this.tenants.set(tenant, (lanes = new TenantLanes()));
    return lanes;
  }

  private enqueue(lanes: TenantLanes, lane: Lane): void {
    if (lane.active) return;
    lane.active = true;
    lanes.ready.push(lane);
  }

  private pump(tenant: TenantId, lanes: TenantLanes): void {
    while (lanes.transactions < MAX_TRANSACTIONS && lanes.ready.length > 0) {
      lanes.transactions += 1;
      void this.flush(tenant, lanes, lanes.ready.shift()!);
    }
  }

  private async flush(tenant: TenantId, lanes: TenantLanes, lane: Lane): Promise<void> {
    const batch = takeBatch(lane.waiting);
    try {
      const sends = batch.map((waiting) => waiting.send);
      const outcomes = await this.write(tenant, lane.topic, sends);
      batch.forEach((waiting, index) => settle(waiting, outcomes[index]));
    } catch (error) {
      rejectAll(batch, error);
      // The storage is away: those who wait must not wait for one time-out after the other. They were never sent.
      if (isAway(error)) for (const other of lanes.lanes.values()) rejectAll(other.waiting, error);
    }
    lanes.transactions -= 1;
    lane.active = false;
    if (lane.waiting.length > 0) this.enqueue(lanes, lane);
    else lanes.lanes.delete(lane.topic);
    this.pump(tenant, lanes);
  }

  private async write(
    tenant: TenantId,
    topic: Topic,
    sends: readonly DirectSend[],
  ): Promise<(DirectOutcome | Failed)[]> {
    const stop = this.seconds.startTimer();
    try {
      const outcomes = await this.store.append(tenant, topic, sends);
      this.tell(tenant, topic, sends, outcomes);
      return outcomes;
    } catch (error) {
      // One bad row never fails its neighbours.
      if (sends.length > 1 && isOwnFault(error)) return await this.writeEach(tenant, topic, sends);
      if (error instanceof CommitUnknown) this.open.add(tenant, topic, sends);
      throw error;
    } finally {
      stop();
    }
  }

  private async writeEach(
    tenant: TenantId,
    topic: Topic,
    sends: readonly DirectSend[],
  ): Promise<(DirectOutcome | Failed)[]> {
    const outcomes: (DirectOutcome | Failed)[] = [];
    for (const send of sends) {
      const alone = this.write(tenant, topic, [send]).then(([outcome]) => outcome);
      outcomes.push(await alone.catch((error: unknown) => ({ kind: 'failed', error })));
    }
    return outcomes;
  }

  private tell(tenant: TenantId, topic: Topic, sends: readonly DirectSend[], outcomes: readonly DirectOutcome[]): void {
    const rows = sends.flatMap(({ from, body }, index) => {
      const outcome = outcomes[index];
      if (outcome.kind !== 'stored') return [];
      return [freshRow({ topic, seq: asSeq(outcome.stored.seq), from, body }, outcome.stored.id)];
    });
    if (rows.length > 0) this.fanout.messages(tenant, topic, rows);
  }
}

/** Did the server refuse this statement, as opposed to every one right now? */
const isOwnFault = (error: unknown): boolean =>
  errnoOf(error) !== undefined && !isUnavailable(error) && !isDeadlock(error) && !isLockWait(error);

const isAway = (error: unknown): boolean =>
  isUnavailable(error) || (error instanceof AppError && error.code === 'STORAGE_UNAVAILABLE');

function settle(waiting: Waiting, outcome: DirectOutcome | Failed): void {
  if (outcome.kind === 'failed') waiting.reject(toAppError(outcome.error));
  else waiting.resolve(outcome);
}

function rejectAll(waiting: Waiting[], error: unknown): void {
  for (const each of waiting.splice(0)) each.reject(toAppError(error));
}

function takeBatch(waiting: Waiting[]): Waiting[] {
  let bytes = 0;
  let count = 0;
  while (count < waiting.length && count < MAX_BATCH_ROWS) {
    bytes += waiting[count].send.body.bytes + ENVELOPE_BYTES;
    if (count > 0 && bytes > MAX_BATCH_BYTES) break;
    count += 1;
  }
  return waiting.splice(0, count);
}
