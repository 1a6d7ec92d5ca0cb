import { Inject, Injectable } from '@nestjs/common';
import { ENV, type Env } from '../../platform/env/env.js';
import { AppError } from '../../platform/errors/app-error.js';
import { Metrics } from '../../platform/observe/metrics.js';
import { RedisUnavailable } from '../../platform/redis/redis-scripts.js';
import { GroupService } from '../group/group.service.js';
import {
  GroupMessageRedis,
  IN_FLIGHT_DEADLINE_MS,
  type AdmitReply,
  type Claimant,
  type ClaimLives,
  type Settlement,
} from './group-message.redis.js';
import { GroupMessageStore, type StoredMessage } from './group-message.store.js';
import { HotPolicy } from './hot-policy.js';
import type { PageRow } from './page-row.js';
import { RebaseService } from './rebase.service.js';

/** How long a retry waits for the attempt that is under way. */
const PENDING_WAIT_MS = 500;
const PENDING_POLL_MS = 25;
/** Loads of the permission and rebases within one admission; more means that something undoes them. */
const MAX_DETOURS = 8;

export type Admission =
  | Extract<AdmitReply, { status: 'ADMITTED' }>
  | { readonly status: 'DONE'; readonly stored: Omit<StoredMessage, 'digest'> };

/** A message for the hot set, and the set's generation when it was admitted. */
export interface HotCopy {
  readonly row: PageRow;
  readonly generation: string;
}

/** The first hop of a send and its counterpart at the end: all that Redis knows of it. */
@Injectable()
export class AdmissionService {
  private readonly lives: ClaimLives;
  private readonly settleFailures;

  constructor(
    private readonly redis: GroupMessageRedis,
    private readonly store: GroupMessageStore,
    private readonly groups: GroupService,
    private readonly rebases: RebaseService,
    private readonly hot: HotPolicy,
    @Inject(ENV) env: Env,
    metrics: Metrics,
  ) {
    this.lives = {
      pendingSeconds: env.MSG_PENDING_TTL_SECONDS,
      doneSeconds: env.MSG_DONE_TTL_SECONDS,
      failedSeconds: env.MSG_FAILED_TTL_SECONDS,
    };
    this.settleFailures = metrics.counter(
      'im_settle_failures_total',
      'Settlements that Redis did not take; they heal by deadline',
    );
  }

  /**
   * @throws AppError NOT_MEMBER, MUTED, GROUP_DISMISSED, IDEMPOTENCY_CONFLICT, IN_PROGRESS, SEQ_UNAVAILABLE
   */
  async admit(claimant: Claimant): Promise<Admission> {
    try {
      const reply = await this.redis.admit(claimant, IN_FLIGHT_DEADLINE_MS, this.lives);
      return reply.status === 'ADMITTED' ? reply : await this.admitThroughDetours(claimant, reply);
    } catch (error) {
      if (error instanceof RedisUnavailable)
        throw new AppError('SEQ_UNAVAILABLE', { cause: error, retryAfterMs: 1000 });
      throw error;
    }
  }

  /** Never throws: the send is decided already, and deadline, TTLs and the unique index heal what is left. */
  settle(claimant: Claimant, settlement: Omit<Settlement, 'hot'>, copy?: HotCopy): Promise<number | null> {
    const { epoch, release, claim } = settlement;
    const isHot = this.hot.countSend(claimant.tenant, claimant.topic);
    const hot = isHot && copy ? { member: copy.row.member, generation: copy.generation } : undefined;
    return this.redis.settle(claimant, { epoch, release, claim, hot }, this.lives).catch(() => {
      this.settleFailures.inc();
      return null;
    });
  }

  /** @param first what Redis said to the first try */
  private async admitThroughDetours(claimant: Claimant, first: AdmitReply): Promise<Admission> {
    const { tenant, topic, uid } = claimant;
    let waitUntil: number | null = null;
    let detours = 0;
    const again = (): Promise<AdmitReply> => this.redis.admit(claimant, IN_FLIGHT_DEADLINE_MS, this.lives);
    // What was admitted is never left behind: it is looked at before the detours are counted.
    for (let reply = first; ; reply = await again()) {
      switch (reply.status) {
        case 'ADMITTED':
          return reply;
        case 'DONE':
          return {
            status: 'DONE',
            stored: { seq: reply.seq, id: reply.messageId, createdAt: new Date(reply.createdAt) },
          };
        case 'NEEDS_ACCESS':
          detours += 1;
          await this.groups.loadAccess(tenant, topic, uid);
          break;
        case 'NEEDS_REBASE':
          detours += 1;
          await this.rebases.rebase(tenant, topic, reply.doubt, reply.epoch);
          break;
        case 'PENDING': {
          // Another attempt of the same message is under way: what it stored is the answer, or it settles soon, or the
          // caller asks again.
          const stored = waitUntil === null ? await this.lookUp(claimant) : null;
          if (stored) return { status: 'DONE', stored };
          waitUntil ??= performance.now() + PENDING_WAIT_MS;
          if (performance.now() >= waitUntil) throw new AppError('IN_PROGRESS', { retryAfterMs: 500 });
          await new Promise((resolve) => setTimeout(resolve, PENDING_POLL_MS));
          break;
        }
        case 'CONFLICT':
          throw new AppError('IDEMPOTENCY_CONFLICT');
        case 'NOT_MEMBER':
        case 'NO_GROUP':
          throw new AppError('NOT_MEMBER');
        case 'DISMISSED':
          throw new AppError('GROUP_DISMISSED');
        case 'MUTED':
          throw new AppError('MUTED', reply.untilMs > Date.now() ? { retryAfterMs: reply.untilMs - Date.now() } : {});
      }
      if (detours >= MAX_DETOURS) throw new AppError('SEQ_UNAVAILABLE', { retryAfterMs: 500 });
    }
  }

  /** @throws AppError IDEMPOTENCY_CONFLICT when the client id is stored with another body */
  private async lookUp({ tenant, topic, uid, clientMsgId, digest }: Claimant): Promise<StoredMessage | null> {
    const stored = await this.store.findByClientId(tenant, topic, uid, clientMsgId);
    if (stored && stored.digest.toString('hex') !== digest) throw new AppError('IDEMPOTENCY_CONFLICT');
    return stored;
  }
}
