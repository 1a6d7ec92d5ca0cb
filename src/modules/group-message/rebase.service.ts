import { Injectable } from '@nestjs/common';
import type { TenantId, Topic } from '../../platform/ids/ids.js';
import { groupIdOf } from '../../platform/ids/topic.js';
import { TenantDataSources } from '../../platform/mysql/tenant-data-sources.js';
import type { WriterSession } from '../../platform/mysql/writer-pool.js';
import { Logger } from '../../platform/observe/logger.js';
import { Metrics } from '../../platform/observe/metrics.js';
import { TopicService } from '../topic/topic.service.js';
import { GroupMessageRedis, NO_EPOCH, type CounterState } from './group-message.redis.js';
import { GroupMessageStore } from './group-message.store.js';

/** Why: a doubt of the scripts, a writer that was fenced, or a number that turned out to be taken. */
export type RebaseReason = 'missing' | 'run_id' | 'entries' | 'expired' | 'fenced' | 'seq-taken';

/** Of a void row that no user wrote. */
const NOBODY = '0';
const MAX_TRIES = 5;
/** Rebases of one tenant that may be under way before readers begin no more; the next reader of the topic asks again. */
const MAX_BACKGROUND = 32;

/**
 * Every doubt about a topic's counter ends its epoch: later writers of the old epoch are turned away by the fence, so the
 * highest stored number is exact, and what is missing below it is a hole for good. MySQL never numbers a message; it only
 * says where to go on.
 */
@Injectable()
export class RebaseService {
  private readonly running = new Map<string, { readonly doubted: number; readonly done: Promise<void> }>();
  private readonly rebases;

  constructor(
    private readonly redis: GroupMessageRedis,
    private readonly store: GroupMessageStore,
    private readonly topics: TopicService,
    private readonly tenants: TenantDataSources,
    private readonly log: Logger,
    metrics: Metrics,
  ) {
    this.rebases = metrics.counter('im_rebases_total', 'Epochs that ended because the counter was in doubt', [
      'reason',
    ]);
  }

  /**
   * Ends the doubted epoch unless that has been done already. Single-flight per topic in this node: who doubts an epoch
   * that is newer than the one that is being ended waits for that, and begins anew.
   * @param doubted the epoch in doubt, NO_EPOCH when there was no counter
   * @throws RedisUnavailable or the database's error: the doubt stands
   */
  async rebase(tenant: TenantId, topic: Topic, reason: RebaseReason, doubted: number): Promise<void> {
    const key = `${tenant} ${topic}`;
    for (let run = this.running.get(key); run; run = this.running.get(key)) {
      if (run.doubted >= doubted) return run.done;
      await run.done.catch(() => undefined);
    }
    const done = this.run(tenant, topic, reason, doubted).finally(() => this.running.delete(key));
    this.running.set(key, { doubted, done });
    return done;
  }

  /** For readers: a quiet topic must heal without a new send, but no reader waits for that. */
  rebaseInBackground(tenant: TenantId, topic: Topic, reason: RebaseReason, doubted: number): void {
    const own = [...this.running.keys()].filter((key) => key.startsWith(`${tenant} `)).length;
    if (own >= MAX_BACKGROUND) return;
    this.rebase(tenant, topic, reason, doubted).catch((error: unknown) => {
      this.log.warn(
        { tenant, topic, reason, error: (error as Error).message },
        'a rebase failed; the next reader tries again',
      );
    });
  }

  private async run(tenant: TenantId, topic: Topic, reason: RebaseReason, doubted: number): Promise<void> {
    for (let attempt = 1; attempt <= MAX_TRIES; attempt += 1) {
      // 1. Redis first: never call it while a row lock is held.
      const seen = await this.redis.inspect(tenant, topic);
      // 2. MySQL: the exclusive lock waits for writers that are committing and turns away every later one.
      const next = await this.tenants.run(tenant, (db) =>
        db.writer.transaction((session) => this.endEpoch(session, topic, seen, doubted)),
      );
      if (!next) return;
      // 3. Redis, only if it is still the server that was read in step 1.
      const answer = await this.redis.raise(tenant, topic, { runId: seen.runId, ...next });
      if (answer === 'OTHER_SERVER') continue;
      this.rebases.inc({ reason });
      const fields = { tenant, topic, reason, epoch: next.epoch, seq: next.seq };
      // A number that is taken means that Redis went back in time.
      if (reason === 'seq-taken') this.log.error(fields, 'redis gave out a stored number; the counter was rebased');
      else this.log.warn(fields, 'the counter of a topic was rebased');
      return;
    }
    throw new Error(`rebase of ${topic}: Redis changed ${MAX_TRIES} times meanwhile`);
  }

  /** @returns the new epoch and the highest stored number, or null when the counter is sound and counts in another epoch */
  private async endEpoch(
    session: WriterSession,
    topic: Topic,
    seen: CounterState,
    doubted: number,
  ): Promise<{ epoch: number; seq: number } | null> {
    const current = await this.topics.lockEpoch(session, topic);
    if (seen.doubt === null && seen.epoch === current && current !== doubted) return null;
    const epoch = Math.max(current, doubted, seen.epoch, NO_EPOCH) + 1;
    await this.topics.setEpoch(session, topic, epoch);
    let seq = await this.store.maxSeq(session, topic);
    if (seen.seq > seq && Number.isSafeInteger(seen.seq)) {
      // Clients may have seen that number as a head: heads never go back.
      seq = seen.seq;
      await this.store.insertVoid(session, topic, groupIdOf(topic), seq, NOBODY);
    }
    await session.commit();
    return { epoch, seq };
  }
}
