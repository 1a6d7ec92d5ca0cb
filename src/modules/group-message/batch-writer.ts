import { Injectable } from '@nestjs/common';
import { AppError } from '../../platform/errors/app-error.js';
import type { TenantId, Topic } from '../../platform/ids/ids.js';
import { isDeadlock, isLockWait, isUnavailable } from '../../platform/mysql/mysql-errors.js';
import { CommitUnknown } from '../../platform/mysql/writer-pool.js';
import { Metrics } from '../../platform/observe/metrics.js';
import { GroupMessageStore, type RowOutcome } from './group-message.store.js';
import type { PendingRow } from './message-row.js';

/** What became of a row, as far as it is known. */
export type AppendOutcome =
  | RowOutcome
  /** The row is not stored and never will be under this number. */
  | { readonly kind: 'not-stored'; readonly error: unknown }
  /** COMMIT was not answered. */
  | { readonly kind: 'unknown'; readonly error: unknown };

interface Waiting {
  readonly row: PendingRow;
  readonly resolve: (outcome: AppendOutcome) => void;
}

const SHARDS = 2;
const MAX_BATCH_ROWS = 200;
const MAX_BATCH_BYTES = 1024 * 1024;
/** Sends of one tenant that may be under way in this node, and the bytes of their rows. */
const MAX_SENDS = 5_000;
const MAX_SEND_BYTES = 32 * 1024 * 1024;
const TRIES_AFTER_DEADLOCK = 4;

/** Rows of one topic shard of one tenant, in the order they were admitted; one flush at a time. */
class ShardQueue {
  readonly waiting: Waiting[] = [];
  flushing = false;
}

/** A tenant's writers, and the sends that are under way. */
class TenantQueue {
  readonly shards = Array.from({ length: SHARDS }, () => new ShardQueue());
  rows = 0;
  bytes = 0;
}

/**
 * Group commit: what piles up while a flush is under way leaves with the next one, so an idle system pays no delay and a
 * busy one few commits. One writer per topic shard, never two on one queue: two made naive readers skip messages.
 */
@Injectable()
export class BatchWriter {
  private readonly tenants = new Map<TenantId, TenantQueue>();
  private readonly batchRows;
  private readonly seconds;

  constructor(
    private readonly store: GroupMessageStore,
    metrics: Metrics,
  ) {
    this.batchRows = metrics.histogram(
      'im_append_batch_rows',
      'Rows in one group commit',
      [],
      [1, 2, 5, 10, 20, 50, 100, 200],
    );
    this.seconds = metrics.histogram('im_append_seconds', 'Time of one group commit');
    metrics.observed('im_append_queue_rows', 'Sends that hold room in the writers', () =>
      [...this.tenants.values()].reduce((sum, queue) => sum + queue.rows, 0),
    );
  }

  /**
   * Takes room for one send until `release` is called, before anything is claimed or numbered; what has a number is never
   * turned away.
   * @throws AppError OVERLOADED when as many sends of the tenant are under way as may be
   */
  reserve(tenant: TenantId, bytes: number): { release(): void } {
    const queue = this.queueOf(tenant);
    if (queue.rows >= MAX_SENDS || queue.bytes + bytes > MAX_SEND_BYTES) {
      throw new AppError('OVERLOADED', { retryAfterMs: 1000 });
    }
    queue.rows += 1;
    queue.bytes += bytes;
    return {
      release: () => {
        queue.rows -= 1;
        queue.bytes -= bytes;
        if (queue.rows === 0) this.tenants.delete(tenant);
      },
    };
  }

  /** Queues a row, whose sender holds room, and tells what became of it. Never rejects. */
  append(tenant: TenantId, row: PendingRow): Promise<AppendOutcome> {
    const shard = this.queueOf(tenant).shards[shardOf(row.topic)];
    return new Promise((resolve) => {
      shard.waiting.push({ row, resolve });
      if (!shard.flushing) void this.drain(tenant, shard);
    });
  }

  private queueOf(tenant: TenantId): TenantQueue {
    let queue = this.tenants.get(tenant);
    if (!queue) this.tenants.set(tenant, (queue = new TenantQueue()));
    return queue;
  }

  private async drain(tenant: TenantId, shard: ShardQueue): Promise<void> {
    shard.flushing = true;
    // What else was admitted in this turn of the event loop joins the first batch.
    await new Promise((resolve) => setImmediate(resolve));
    while (shard.waiting.length > 0) {
      const batch = takeBatch(shard.waiting);
      this.batchRows.observe(batch.length);
      const stop = this.seconds.startTimer();
      const outcomes = await this.write(
        tenant,
        batch.map((waiting) => waiting.row),
      );
      stop();
      batch.forEach((waiting, index) => waiting.resolve(outcomes[index]));
      // The storage is away: those who wait must not wait for one time-out after the other. They were never sent.
      const away = outcomes.find(isAway);
      if (away)
        for (const waiting of shard.waiting.splice(0)) waiting.resolve({ kind: 'not-stored', error: away.error });
    }
    shard.flushing = false;
  }

  /** One batch, with everything that can go wrong; one bad row never fails its neighbours. */
  private async write(tenant: TenantId, rows: PendingRow[]): Promise<AppendOutcome[]> {
    let error: unknown;
    for (let attempt = 1; attempt <= TRIES_AFTER_DEADLOCK; attempt += 1) {
      try {
        return await this.store.insert(tenant, rows);
      } catch (thrown) {
        error = thrown;
        // All of it again, from the fence on: after a deadlock the transaction is gone, and a repeated INSERT alone would
        // run outside the fence. A lock that one topic waits for is waited for once more.
        const again = isDeadlock(error) || (isLockWait(error) && attempt === 1 && byTopic(rows).length === 1);
        if (!again) break;
      }
    }
    if (error instanceof CommitUnknown) return rows.map(() => ({ kind: 'unknown', error }));
    // Nothing of this batch is stored. Its rows are tried again in smaller company where that can help.
    if (rows.length === 1 || isUnavailable(error) || error instanceof AppError) {
      return rows.map(() => ({ kind: 'not-stored', error }));
    }
    return this.writeParts(
      tenant,
      rows,
      isLockWait(error) || isDeadlock(error) ? byTopic(rows) : rows.map((row) => [row]),
    );
  }

  private async writeParts(tenant: TenantId, rows: PendingRow[], parts: PendingRow[][]): Promise<AppendOutcome[]> {
    // One topic that waits for a lock: nothing smaller helps.
    if (parts.length === 1) return rows.map(() => ({ kind: 'not-stored', error: new AppError('STORAGE_UNAVAILABLE') }));
    const outcomes = new Map<PendingRow, AppendOutcome>();
    let away: Failed | undefined;
    for (const part of parts) {
      // The storage went away between two parts: the rest was never sent, and need not wait part by part to learn that.
      const { error } = away ?? {};
      const results = away ? part.map(() => ({ kind: 'not-stored', error }) as const) : await this.write(tenant, part);
      part.forEach((row, index) => outcomes.set(row, results[index]));
      away ??= results.find(isAway);
    }
    return rows.map((row) => outcomes.get(row)!);
  }
}

type Failed = Extract<AppendOutcome, { readonly error: unknown }>;

/** Did the whole database not answer, as opposed to this row being wrong? */
export const isAway = (outcome: AppendOutcome): outcome is Failed =>
  'error' in outcome && (outcome.kind === 'unknown' || isUnavailable(outcome.error));

function takeBatch(waiting: Waiting[]): Waiting[] {
  let bytes = 0;
  let count = 0;
  while (count < waiting.length && count < MAX_BATCH_ROWS) {
    bytes += waiting[count].row.body.bytes;
    if (count > 0 && bytes > MAX_BATCH_BYTES) break;
    count += 1;
  }
  return waiting.splice(0, count);
}

function byTopic(rows: readonly PendingRow[]): PendingRow[][] {
  const parts = new Map<Topic, PendingRow[]>();
  for (const row of rows) parts.set(row.topic, [...(parts.get(row.topic) ?? []), row]);
  return [...parts.values()];
}

/** A stable small hash of the topic. */
function shardOf(topic: Topic): number {
  let hash = 0;
  for (let index = 0; index < topic.length; index += 1) hash = (hash * 31 + topic.charCodeAt(index)) | 0;
  return Math.abs(hash) % SHARDS;
}
