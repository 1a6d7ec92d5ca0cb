import { Inject, Injectable } from '@nestjs/common';
import { ENV, type Env } from '../../platform/env/env.js';
import type { TenantId, Topic, UserId } from '../../platform/ids/ids.js';
import { Batches } from '../../platform/redis/batches.js';
import { RedisKeys } from '../../platform/redis/keys.js';
import { loadScript, RedisScripts, type RedisScript } from '../../platform/redis/redis-scripts.js';

const ADMIT = loadScript(__dirname, 'admit');
const SETTLE = loadScript(__dirname, 'settle');
const HEAD = loadScript(__dirname, 'head');
const INSPECT = loadScript(__dirname, 'inspect');
const RAISE = loadScript(__dirname, 'raise');

/** Why the counter of a topic is not to be trusted. */
export type Doubt = 'missing' | 'run_id' | 'entries' | 'expired';

/** Epoch of a counter that is not there. */
export const NO_EPOCH = -1;

/** One attempt to send one message; the same owner token however often it is admitted. */
export interface Claimant {
  readonly tenant: TenantId;
  readonly topic: Topic;
  readonly uid: UserId;
  readonly clientMsgId: string;
  readonly owner: string;
  /** Hex. */
  readonly digest: string;
  readonly createdAt: string;
}

export type AdmitReply =
  | { readonly status: 'DONE'; readonly seq: number; readonly messageId: string; readonly createdAt: string }
  | { readonly status: 'NEEDS_ACCESS' | 'NOT_MEMBER' | 'DISMISSED' | 'NO_GROUP' | 'CONFLICT' }
  | { readonly status: 'MUTED'; readonly untilMs: number }
  | { readonly status: 'NEEDS_REBASE'; readonly doubt: Doubt; readonly epoch: number }
  | { readonly status: 'PENDING'; readonly seq: number }
  | {
      readonly status: 'ADMITTED';
      readonly seq: number;
      readonly epoch: number;
      readonly aclVersion: number;
      /** An earlier attempt of the same message was abandoned; it may have been stored without being told to anybody. */
      readonly takenOver: boolean;
      /** Of the hot set at that moment; a copy is added only while it is still the same. */
      readonly hotGeneration: string;
    };

export interface Settlement {
  readonly epoch: number;
  /** Number to take out of flight; null while no row with it is known to be stored. */
  readonly release: number | null;
  readonly claim:
    | { readonly status: 'done'; readonly seq: number; readonly messageId: string; readonly createdAt: string }
    | { readonly status: 'failed' }
    | null;
  /** Copy for the hot set; absent for topics that have none. */
  readonly hot?: { readonly member: string; readonly generation: string };
}

export type HeadReply =
  | {
      readonly status: 'HEAD';
      readonly stableSeq: number;
      readonly lastSeq: number;
      readonly expiredEpoch: number | null;
    }
  | { readonly status: 'DOUBT'; readonly doubt: Doubt; readonly epoch: number };

export interface CounterState {
  readonly runId: string;
  readonly doubt: Doubt | null;
  readonly epoch: number;
  readonly seq: number;
}

export interface ClaimLives {
  readonly pendingSeconds: number;
  readonly doneSeconds: number;
  readonly failedSeconds: number;
}

/** A permission older than this is loaded again, whatever the life of its key. */
export const ACCESS_MAX_AGE_MS = 300_000;

/** A number that was given out and is neither stored nor void by then ends its epoch. */
export const IN_FLIGHT_DEADLINE_MS = 10_000;

/** Bounds of one topic's hot set. */
export const MAX_HOT_MESSAGES = 2_000;
export const MAX_HOT_BYTES = 1024 * 1024;

interface AdmitItem {
  readonly claimant: Claimant;
  readonly deadlineMs: number;
  readonly lives: ClaimLives;
}

interface SettleItem {
  readonly claimant: Claimant;
  readonly settlement: Settlement;
  readonly lives: ClaimLives;
}

/** Sends in one script: a longer one keeps Redis from others, and while one is under way the next is made ready. */
const MAX_BATCH = 32;

const topicKey = ({ tenant, topic }: Claimant): string => `${tenant} ${topic}`;

/** Keys and scripts of numbering and idempotency. */
@Injectable()
export class GroupMessageRedis {
  private readonly hotTtlSeconds: number;
  private readonly admissions = new Batches<AdmitItem, AdmitReply>(MAX_BATCH, (items) => this.admitAll(items));
  private readonly settlements = new Batches<SettleItem, number | null>(MAX_BATCH, (items) => this.settleAll(items));

  constructor(
    private readonly keys: RedisKeys,
    private readonly scripts: RedisScripts,
    @Inject(ENV) env: Pick<Env, 'HOT_MESSAGE_TTL_SECONDS'>,
  ) {
    this.hotTtlSeconds = env.HOT_MESSAGE_TTL_SECONDS;
  }

  /**
   * Sends of one topic that come while an Admit of it is under way leave together with the next.
   * @throws RedisUnavailable
   */
  admit(claimant: Claimant, deadlineMs: number, lives: ClaimLives): Promise<AdmitReply> {
    return this.admissions.push(topicKey(claimant), { claimant, deadlineMs, lives });
  }

  /**
   * Settlements of one topic leave together in the same way.
   * @returns the topic's stableSeq afterwards, null when its counter has moved to another epoch. @throws RedisUnavailable
   */
  settle(claimant: Claimant, settlement: Settlement, lives: ClaimLives): Promise<number | null> {
    return this.settlements.push(topicKey(claimant), { claimant, settlement, lives });
  }

  private async admitAll(items: readonly AdmitItem[]): Promise<AdmitReply[]> {
    const [{ claimant, deadlineMs, lives }] = items;
    const { tenant, topic } = claimant;
    const params = { t: tenant, topic };
    const keys = this.counterKeys(tenant, topic);
    keys.push(this.keys.of('groupAccess', params), this.keys.of('topicHotMeta', params));
    const args: (string | number)[] = [deadlineMs, lives.pendingSeconds, ACCESS_MAX_AGE_MS];
    for (const { claimant: one } of items) {
      keys.push(this.claimKey(one));
      args.push(one.uid, one.owner, `${one.digest}|${one.createdAt}`);
    }
    const [counter, ...replies] = (await this.scripts.run(ADMIT, keys, args)) as string[];
    const [epoch, hotGeneration] = counter.split('|');
    return replies.map((reply) => decodeAdmit(reply, Number(epoch), hotGeneration));
  }

  private async settleAll(items: readonly SettleItem[]): Promise<(number | null)[]> {
    const [{ claimant, lives }] = items;
    const keys = this.counterKeys(claimant.tenant, claimant.topic);
    keys.push(...this.hotKeys(claimant.tenant, claimant.topic));
    const { doneSeconds, failedSeconds } = lives;
    const args: (string | number)[] = [this.hotTtlSeconds, MAX_HOT_MESSAGES, MAX_HOT_BYTES, doneSeconds, failedSeconds];
    for (const { claimant: one, settlement } of items) {
      const { epoch, release, claim, hot } = settlement;
      keys.push(this.claimKey(one));
      args.push(epoch, release ?? '', claim ? claimText(one, epoch, claim) : '');
      args.push(hot?.member ?? '', hot?.generation ?? '');
    }
    const [stable, ...states] = (await this.scripts.run(SETTLE, keys, args)) as string[];
    return states.map((state) => (state === 'SETTLED' ? Number(stable) : null));
  }

  /** @throws RedisUnavailable */
  async head(tenant: TenantId, topic: Topic): Promise<HeadReply> {
    const reply = await this.call(HEAD, this.counterKeys(tenant, topic), []);
    if (reply[0] === 'DOUBT') return { status: 'DOUBT', doubt: reply[1] as Doubt, epoch: Number(reply[2]) };
    return {
      status: 'HEAD',
      stableSeq: Number(reply[1]),
      lastSeq: Number(reply[2]),
      expiredEpoch: reply[3] === 'expired' ? Number(reply[4]) : null,
    };
  }

  /** @throws RedisUnavailable */
  async inspect(tenant: TenantId, topic: Topic): Promise<CounterState> {
    const [runId, doubt, epoch, seq] = await this.call(INSPECT, this.counterKeys(tenant, topic), []);
    return { runId, doubt: doubt === '' ? null : (doubt as Doubt), epoch: Number(epoch), seq: Number(seq) };
  }

  /** @throws RedisUnavailable */
  async raise(
    tenant: TenantId,
    topic: Topic,
    to: { readonly runId: string; readonly epoch: number; readonly seq: number },
  ): Promise<'RAISED' | 'KEPT' | 'OTHER_SERVER'> {
    const keys = [...this.counterKeys(tenant, topic), ...this.hotKeys(tenant, topic)];
    const [status] = await this.call(RAISE, keys, [to.runId, to.epoch, to.seq]);
    return status as 'RAISED' | 'KEPT' | 'OTHER_SERVER';
  }

  private counterKeys(tenant: TenantId, topic: Topic): string[] {
    const params = { t: tenant, topic };
    return [
      this.keys.of('topicLastSeq', params),
      this.keys.of('topicInflight', params),
      this.keys.of('topicInflightDeadline', params),
    ];
  }

  private hotKeys(tenant: TenantId, topic: Topic): string[] {
    const params = { t: tenant, topic };
    return [this.keys.of('topicHot', params), this.keys.of('topicHotMeta', params)];
  }

  private claimKey(claimant: Claimant): string {
    const { tenant, topic, uid, clientMsgId } = claimant;
    return this.keys.of('messageClaim', { t: tenant, topic, from: uid, clientMsgId });
  }

  private async call(script: RedisScript, keys: string[], args: (string | number)[]): Promise<string[]> {
    return (await this.scripts.run(script, keys, args)) as string[];
  }
}

/** As `claim.lua` reads it. */
function claimText(
  { owner, digest, createdAt }: Claimant,
  epoch: number,
  claim: NonNullable<Settlement['claim']>,
): string {
  return claim.status === 'done'
    ? `done|${owner}|${claim.seq}|${epoch}|${claim.messageId}|${digest}|${claim.createdAt}`
    : `failed|${owner}||${epoch}||${digest}|${createdAt}`;
}

function decodeAdmit(reply: string, epoch: number, hotGeneration: string): AdmitReply {
  const [status, first, second, third] = reply.split('|');
  switch (status) {
    case 'DONE':
      return { status, seq: Number(first), messageId: second, createdAt: third };
    case 'NEEDS_ACCESS':
    case 'NOT_MEMBER':
    case 'DISMISSED':
    case 'NO_GROUP':
    case 'CONFLICT':
      return { status };
    case 'MUTED':
      return { status, untilMs: Number(first) };
    case 'NEEDS_REBASE':
      return { status, doubt: first as Doubt, epoch };
    case 'PENDING':
      return { status, seq: Number(first) };
    case 'ADMITTED': {
      const aclVersion = Number(second);
      return { status, seq: Number(first), epoch, aclVersion, takenOver: third === '1', hotGeneration };
    }
    default:
      throw new Error(`admit answered ${status}`);
  }
}
