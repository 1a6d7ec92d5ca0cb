import { Injectable } from '@nestjs/common';
import type { TenantId, UserId } from '../../platform/ids/ids.js';
import { Logger } from '../../platform/observe/logger.js';
import { Metrics } from '../../platform/observe/metrics.js';
import { RedisUnavailable } from '../../platform/redis/redis-scripts.js';
import { PresenceRedis } from './presence.redis.js';
import { SessionRedis, type UserState } from './session.redis.js';

/** The states of users as Redis has them. When it cannot say, the answer is null for all: never a guess. */
@Injectable()
export class PresenceStates {
  private readonly unknown;
  private alarmed = false;

  constructor(
    private readonly nodes: PresenceRedis,
    private readonly sessions: SessionRedis,
    private readonly log: Logger,
    metrics: Metrics,
  ) {
    this.unknown = metrics.counter('im_presence_unknown_total', 'Presences that were answered "unknown"', ['reason']);
  }

  /** @returns null while Redis is away, or so young that not every node has registered again */
  async read(tenant: TenantId, uids: readonly UserId[]): Promise<Map<UserId, UserState> | null> {
    try {
      const reading = uids.map(async (uid) => [uid, await this.sessions.read(tenant, uid)] as const);
      // Asked after the states: a Redis that lost everything between the two is seen as that.
      const [states, ready] = await Promise.all([Promise.all(reading), this.nodes.isReady()]);
      this.allClear();
      if (ready) return new Map(states);
      this.unknown.inc({ reason: 'redis_is_young' }, uids.length);
    } catch (error) {
      if (!(error instanceof RedisUnavailable)) throw error;
      this.alarm(error);
      this.unknown.inc({ reason: 'redis_is_away' }, uids.length);
    }
    return null;
  }

  private alarm(error: Error): void {
    if (this.alarmed) return;
    this.alarmed = true;
    const cause = (error.cause as Error | undefined)?.message;
    this.log.error({ cause }, 'presence is unknown: Redis does not answer; connections and messages go on');
  }

  private allClear(): void {
    if (!this.alarmed) return;
    this.alarmed = false;
    this.log.info({}, 'presence is known again');
  }
}
