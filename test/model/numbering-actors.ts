import type { Settings } from './numbering-settings.js';
import type { Doubt, ModelMysql, ModelRedis, Numbered } from './numbering-state.js';
import type { Random } from './random.js';

/** A broken promise, found by a schedule. */
export class Violation extends Error {}

/** What all actors of one schedule share. */
export interface World {
  readonly settings: Settings;
  readonly random: Random;
  readonly redis: ModelRedis;
  readonly mysql: ModelMysql;
  readonly rebases: Rebase[];
  /** Acknowledged numbers by client id. */
  readonly acked: Map<number, number>;
}

export function doubtRebase(world: World, doubt: Doubt, epoch: number): void {
  const running = world.rebases.filter((rebase) => !rebase.ended).length;
  if (running < 9) world.rebases.push(new Rebase(world, doubt, doubt === 'missing' ? world.mysql.epoch : epoch));
}

/** One attempt to send one message: admit, append, settle. A step is one script or one transaction. */
export class Writer {
  ended = false;
  private step: 'admit' | 'append' | 'abandon' | 'settle' = 'admit';
  private row!: Numbered;
  private storedSeq: number | null = null;
  private fenced = 0;

  constructor(
    private readonly world: World,
    readonly client: number,
    private readonly owner: number,
  ) {}

  /** The seq that it was acknowledged with, null so far. */
  get ackedSeq(): number | null {
    return this.ended ? this.storedSeq : null;
  }

  advance(): void {
    switch (this.step) {
      case 'admit':
        return this.admit();
      case 'append':
        return this.append();
      case 'abandon':
        return this.abandon();
      case 'settle':
        return this.settle();
    }
  }

  private admit(): void {
    const { redis, random } = this.world;
    const reply = redis.admit(this.client, this.owner);
    if (reply.kind === 'done') return this.acknowledge(reply.seq);
    if (reply.kind === 'pending') return this.end();
    if (reply.kind === 'doubt') return doubtRebase(this.world, reply.doubt, reply.epoch);
    this.row = { client: this.client, owner: this.owner, epoch: reply.epoch, seq: reply.seq };
    // Some sends give up here: the permission changed, the row was refused.
    this.step = random.chance(0.12) ? 'abandon' : 'append';
  }

  private append(): void {
    const { mysql, redis, settings } = this.world;
    switch (mysql.append(this.row)) {
      case 'stored':
        this.storedSeq = this.row.seq;
        this.step = 'settle';
        return;
      case 'duplicate':
        this.storedSeq = mysql.byClient.get(this.client) ?? null;
        this.step = 'abandon';
        return;
      case 'taken':
        doubtRebase(this.world, 'taken', this.row.epoch);
        this.step = 'admit';
        return;
      case 'fenced':
        this.fenced += 1;
        if (redis.counter && redis.counter.epoch < mysql.epoch) doubtRebase(this.world, 'fenced', mysql.epoch);
        if (this.fenced >= 5) return this.giveUp();
        this.step = 'admit';
        return;
      case 'unknown':
        if (settings.mistakes.has('lookup-decides')) return this.lookUp();
        this.step = 'abandon';
        return;
      case 'waits':
        return;
    }
  }

  /** The number is not used, or nobody knows: the tombstone decides. */
  private abandon(): void {
    const outcome = this.world.mysql.tombstone(this.row);
    if (outcome === 'waits') return;
    if (outcome === 'fenced') return this.giveUp();
    if (outcome === 'stored') this.storedSeq = this.row.seq;
    this.step = 'settle';
  }

  private lookUp(): void {
    this.storedSeq = this.world.mysql.byClient.get(this.client) ?? null;
    this.settle();
  }

  private settle(): void {
    this.world.redis.settle(this.row, this.storedSeq);
    if (this.storedSeq === null) this.end();
    else this.acknowledge(this.storedSeq);
  }

  /** Its epoch is over: there is nothing to settle but the claim. */
  private giveUp(): void {
    const epochIsOver = { ...this.row, epoch: -1 };
    this.world.redis.settle(epochIsOver, null);
    if (this.storedSeq === null) this.end();
    else this.acknowledge(this.storedSeq);
  }

  private acknowledge(seq: number): void {
    const before = this.world.acked.get(this.client);
    if (before !== undefined && before !== seq) throw new Violation('one client id was acknowledged with two seqs');
    this.world.acked.set(this.client, seq);
    this.storedSeq = seq;
    this.end();
  }

  private end(): void {
    this.ended = true;
  }
}

/** Ends a doubted epoch: one transaction under the exclusive lock, then one script. */
export class Rebase {
  ended = false;
  private next: { readonly epoch: number; readonly max: number; readonly server: number } | null = null;

  constructor(
    private readonly world: World,
    private doubt: Doubt,
    private readonly doubted: number,
  ) {}

  advance(): void {
    if (this.next) this.raise(this.next);
    else this.endEpoch();
  }

  private endEpoch(): void {
    const { mysql, redis, settings } = this.world;
    // The exclusive lock waits for every open transaction.
    if (mysql.open.some((row) => row.epoch === mysql.epoch)) return;
    if (this.nothingLeft()) {
      this.ended = true;
      return;
    }
    const begun = settings.mistakes.has('cas-on-missing') && this.doubt === 'missing' && this.doubted !== mysql.epoch;
    if (!begun && settings.rules.has('new-epoch')) mysql.epoch = Math.max(mysql.epoch, this.doubted) + 1;
    const counted = redis.counter?.seq ?? 0;
    if (settings.rules.has('void-top') && counted > mysql.max) mysql.rows.set(counted, 'void');
    this.next = { epoch: mysql.epoch, max: mysql.max, server: redis.server };
  }

  /** Does Redis count in MySQL's epoch, under its own run id, without a doubt, and is the doubted epoch over? */
  private nothingLeft(): boolean {
    const { mysql, redis, settings } = this.world;
    if (settings.mistakes.has('plain-cas')) return this.doubt !== 'missing' && this.doubted !== mysql.epoch;
    const doubt = redis.doubt();
    const sound = redis.counter?.epoch === mysql.epoch && (doubt === null || doubt === 'expired');
    return sound && (this.doubt === 'missing' || this.doubted !== mysql.epoch);
  }

  private raise(next: { readonly epoch: number; readonly max: number; readonly server: number }): void {
    const { redis, settings } = this.world;
    if (settings.rules.has('run-id') && next.server !== redis.server) {
      this.next = null;
      this.doubt = 'missing';
      return;
    }
    redis.raise(next.epoch, next.max);
    this.ended = true;
  }
}

/** A client that follows the rule: `stableSeq` first, then the rows, then the cursor. */
export class Reader {
  cursor = 0;
  /** Seqs that it took for holes. */
  readonly holes = new Set<number>();
  private stable: number | null = null;

  constructor(private readonly world: World) {}

  advance(): void {
    if (this.stable === null) this.readHead();
    else this.readRows(this.stable);
  }

  /** Forgets a head that it read, as a client does that starts anew. */
  restart(): void {
    this.stable = null;
  }

  private readHead(): void {
    const { redis, mysql, settings } = this.world;
    const doubt = redis.doubt();
    if (doubt && settings.rules.has('read-rebase')) {
      doubtRebase(this.world, doubt, redis.counter?.epoch ?? mysql.epoch);
    }
    this.stable = redis.stableSeq();
  }

  private readRows(stable: number): void {
    const { rows } = this.world.mysql;
    for (let seq = this.cursor + 1; seq <= stable; seq += 1) if (!rows.has(seq)) this.holes.add(seq);
    this.cursor = Math.max(this.cursor, stable);
    this.stable = null;
  }
}
