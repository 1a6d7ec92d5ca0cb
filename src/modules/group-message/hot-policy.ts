import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { ENV, type Env } from '../../platform/env/env.js';
import type { TenantId, Topic } from '../../platform/ids/ids.js';
import { GroupService } from '../group/group.service.js';
import { HotRedis } from './hot.redis.js';

/** More sends than this in a minute, seen by this node, make a small group hot, too. */
const BUSY_SENDS_PER_MINUTE = 20;
const MINUTE_MS = 60_000;
const MAX_TOPICS = 20_000;

interface Known {
  members: number;
  sends: number;
  minuteStartedMs: number;
  countedMs: number;
  touchedMs: number;
}

/** Which topics have a hot set. Only a matter of speed: a wrong answer costs a read of MySQL or some memory in Redis. */
@Injectable()
export class HotPolicy {
  private readonly topics = new LRUCache<string, Known>({ max: MAX_TOPICS });

  constructor(
    private readonly groups: GroupService,
    private readonly redis: HotRedis,
    @Inject(ENV) private readonly env: Pick<Env, 'HOT_MIN_MEMBERS'>,
  ) {}

  isHot(tenant: TenantId, topic: Topic): boolean {
    return this.judge(this.known(tenant, topic), tenant, topic);
  }

  /** Counts a send. @returns whether the topic is hot now */
  countSend(tenant: TenantId, topic: Topic): boolean {
    const known = this.known(tenant, topic);
    if (Date.now() - known.minuteStartedMs > MINUTE_MS) {
      known.minuteStartedMs = Date.now();
      known.sends = 0;
    }
    known.sends += 1;
    return this.judge(known, tenant, topic);
  }

  private judge(known: Known, tenant: TenantId, topic: Topic): boolean {
    const hot = known.members >= this.env.HOT_MIN_MEMBERS || known.sends > BUSY_SENDS_PER_MINUTE;
    if (hot && Date.now() - known.touchedMs > MINUTE_MS) {
      known.touchedMs = Date.now();
      this.redis.touch(tenant, topic).catch(() => undefined);
    }
    return hot;
  }

  private known(tenant: TenantId, topic: Topic): Known {
    const key = `${tenant} ${topic}`;
    let known = this.topics.get(key);
    if (!known) {
      known = { members: 0, sends: 0, minuteStartedMs: Date.now(), countedMs: 0, touchedMs: 0 };
      this.topics.set(key, known);
    }
    if (Date.now() - known.countedMs > MINUTE_MS) {
      known.countedMs = Date.now();
      const counted = known;
      this.groups.memberCount(tenant, topic).then(
        (members) => (counted.members = members),
        () => undefined,
      );
    }
    return known;
  }
}
