import { Reader, type Rebase, Violation, Writer, type World } from './numbering-actors.js';
import type { Settings } from './numbering-settings.js';
import { ModelMysql, ModelRedis, type Counter } from './numbering-state.js';
import { Random } from './random.js';

const STEPS = 160;
const MAX_WRITERS = 5;
const MAX_SNAPSHOTS = 4;

/** One topic, a few writers and rebases, two readers, and everything that can go wrong, in an order that the seed decides. */
class Schedule {
  private readonly random: Random;
  private readonly world: World;
  private readonly writers: Writer[] = [];
  private readonly readers: Reader[];
  private readonly snapshots: (Counter | null)[] = [];
  private clients = 0;
  private owners = 0;

  constructor(
    private readonly settings: Settings,
    seed: number,
  ) {
    this.random = new Random(seed);
    this.world = {
      settings,
      random: this.random,
      redis: new ModelRedis(settings),
      mysql: new ModelMysql(settings, this.random, (seq) => this.onStored(seq)),
      rebases: [],
      acked: new Map(),
    };
    this.readers = [new Reader(this.world), new Reader(this.world)];
  }

  /** @returns how many messages were acknowledged. @throws Violation */
  run(): number {
    for (let step = 0; step < STEPS; step += 1) {
      this.advanceSomething();
      this.checkNumbers();
    }
    this.endFaults();
    const newest = this.settings.quietEnd ? Math.max(0, ...this.world.acked.values()) : this.sendOnceMore();
    this.readToTheEnd(newest);
    return this.world.acked.size;
  }

  private advanceSomething(): void {
    const { random, world } = this;
    const live = this.writers.filter((writer) => !writer.ended);
    const rebases = world.rebases.filter((rebase) => !rebase.ended);
    const dice = random.next();
    if (dice < 0.16 && live.length < MAX_WRITERS) this.startSend();
    else if (dice < 0.52 && live.length > 0) random.pick(live).advance();
    else if (dice < 0.56 && world.mysql.open.length > 0) world.mysql.endOpen(random.pick(world.mysql.open));
    else if (dice < 0.7 && rebases.length > 0) random.pick(rebases).advance();
    else if (dice < 0.86) random.pick(this.readers).advance();
    else if (dice < 0.88 && live.length > 0) random.pick(live).ended = true;
    else this.accident(dice);
  }

  private accident(dice: number): void {
    const { random, settings } = this;
    const { redis } = this.world;
    const inflight = [...(redis.counter?.inflight.values() ?? [])];
    if (dice < 0.91) {
      // The writer of an entry whose deadline passes may be dead, or only slow.
      if (inflight.length > 0) random.pick(inflight).expired = true;
    } else if (dice < 0.94) {
      if (this.snapshots.length === MAX_SNAPSHOTS) this.snapshots.shift();
      this.snapshots.push(redis.copy());
    } else if (dice < 0.955) {
      if (settings.accidents.has('redis-loss') && this.snapshots.length > 0)
        redis.replaceBy(random.pick(this.snapshots));
    } else if (dice < 0.96) {
      if (settings.accidents.has('redis-loss')) redis.replaceBy(null);
    } else if (dice < 0.965 && settings.accidents.has('key-loss')) {
      redis.counter?.inflight.clear();
    }
  }

  private startSend(): void {
    const retry = this.clients > 0 && this.random.chance(0.3);
    const client = retry ? 1 + this.random.below(this.clients) : (this.clients += 1);
    this.writers.push(new Writer(this.world, client, (this.owners += 1)));
  }

  private onStored(seq: number): void {
    for (const reader of this.readers) {
      if (reader.holes.has(seq)) throw new Violation(`seq ${seq} was stored after a reader had taken it for a hole`);
    }
  }

  private checkNumbers(): void {
    const { byClient } = this.world.mysql;
    if (new Set(byClient.values()).size !== byClient.size) throw new Violation('a seq is used twice');
  }

  /** Half of the writers die, what was open ends, what is left in flight expires. */
  private endFaults(): void {
    for (const writer of this.writers) if (this.random.chance(0.5)) writer.ended = true;
    for (const entry of this.world.redis.counter?.inflight.values() ?? []) entry.expired = true;
    this.drain();
  }

  private drain(): void {
    const { mysql, rebases } = this.world;
    while (mysql.open.length > 0) mysql.endOpen(mysql.open[0]);
    for (const rebase of rebases) finish(rebase);
  }

  private sendOnceMore(): number {
    const client = (this.clients += 1);
    for (let tries = 0; tries < 20; tries += 1) {
      const writer = new Writer(this.world, client, (this.owners += 1));
      for (let step = 0; step < 20 && !writer.ended; step += 1) {
        writer.advance();
        this.drain();
      }
      if (writer.ackedSeq !== null) return writer.ackedSeq;
    }
    throw new Violation('sending does not resume');
  }

  private readToTheEnd(newest: number): void {
    for (const reader of this.readers) {
      reader.restart();
      for (let step = 0; step < 6; step += 1) {
        reader.advance();
        this.drain();
      }
      if (reader.cursor < newest) {
        throw new Violation(`a reader stays at ${reader.cursor} below the newest message ${newest}`);
      }
    }
  }
}

function finish(rebase: Rebase): void {
  for (let step = 0; step < 10 && !rebase.ended; step += 1) rebase.advance();
}

export interface ModelResult {
  readonly acked: number;
  /** Seed and text of the first broken promise. */
  readonly violation: string | null;
}

/** Runs schedules with the seeds from 1 up, until one breaks the promise. */
export function runModel(settings: Settings, schedules: number): ModelResult {
  let acked = 0;
  for (let seed = 1; seed <= schedules; seed += 1) {
    try {
      acked += new Schedule(settings, seed).run();
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      return { acked, violation: `seed ${seed}: ${error.message}` };
    }
  }
  return { acked, violation: null };
}
