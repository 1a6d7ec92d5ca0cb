import type { Random } from './random.js';
import type { Settings } from './numbering-settings.js';

export interface Claim {
  readonly status: 'pending' | 'done' | 'failed';
  readonly seq: number;
  readonly epoch: number;
  readonly owner: number;
}

/** The topic's keys in Redis. */
export interface Counter {
  epoch: number;
  seq: number;
  entries: number;
  runId: number;
  readonly inflight: Map<number, { expired: boolean }>;
  readonly claims: Map<number, Claim>;
}

export type Doubt = 'missing' | 'partial' | 'expired' | 'taken' | 'fenced';

export type Admission =
  | { readonly kind: 'admitted'; readonly epoch: number; readonly seq: number }
  | { readonly kind: 'done'; readonly seq: number }
  | { readonly kind: 'pending' }
  | { readonly kind: 'doubt'; readonly doubt: Doubt; readonly epoch: number };

/** A row that is about to be stored. */
export interface Numbered {
  readonly client: number;
  readonly owner: number;
  readonly epoch: number;
  readonly seq: number;
}

export type Appended = 'stored' | 'duplicate' | 'taken' | 'fenced' | 'unknown' | 'waits';

/** Redis as the scripts see it; each method is one script and so atomic. */
export class ModelRedis {
  counter: Counter | null = null;
  /** The server's run id: another one after each restart or fail-over. */
  server = 1;

  constructor(private readonly settings: Settings) {}

  doubt(): Doubt | null {
    const { counter } = this;
    const { rules } = this.settings;
    if (!counter) return 'missing';
    if (rules.has('run-id') && counter.runId !== this.server) return 'partial';
    if (rules.has('entries') && counter.entries !== counter.inflight.size) return 'partial';
    if (rules.has('deadline') && [...counter.inflight.values()].some((entry) => entry.expired)) return 'expired';
    return null;
  }

  admit(client: number, owner: number): Admission {
    const { counter } = this;
    const claim = this.settings.rules.has('claims') ? counter?.claims.get(client) : undefined;
    if (claim?.status === 'done') return { kind: 'done', seq: claim.seq };
    const doubt = this.doubt();
    if (doubt || !counter) return { kind: 'doubt', doubt: doubt ?? 'missing', epoch: counter?.epoch ?? -1 };
    const alive =
      claim?.status === 'pending' &&
      claim.owner !== owner &&
      claim.epoch === counter.epoch &&
      counter.inflight.has(claim.seq);
    if (alive) return { kind: 'pending' };
    counter.seq += 1;
    counter.entries += 1;
    counter.inflight.set(counter.seq, { expired: false });
    counter.claims.set(client, { status: 'pending', seq: counter.seq, epoch: counter.epoch, owner });
    return { kind: 'admitted', epoch: counter.epoch, seq: counter.seq };
  }

  /** Takes a number out of flight whose row, message or void, is stored; writes the claim. */
  settle(row: Numbered, doneSeq: number | null): void {
    const { counter } = this;
    if (!counter) return;
    if (counter.epoch === row.epoch && counter.inflight.delete(row.seq)) counter.entries -= 1;
    const claim = counter.claims.get(row.client);
    const { epoch, owner } = row;
    if (doneSeq !== null) counter.claims.set(row.client, { status: 'done', seq: doneSeq, epoch, owner });
    else if (claim?.owner === owner && claim.status !== 'done') {
      counter.claims.set(row.client, { ...claim, status: 'failed' });
    }
  }

  /** Every seq at or below it is stored or a hole for good; null when nothing can be said. */
  stableSeq(): number | null {
    const doubt = this.doubt();
    if (!this.counter || (doubt !== null && doubt !== 'expired')) return null;
    return Math.min(this.counter.seq, ...[...this.counter.inflight.keys()].map((seq) => seq - 1));
  }

  /** The last step of a rebase. */
  raise(epoch: number, max: number): void {
    const { rules, mistakes } = this.settings;
    if (this.counter && this.counter.epoch >= epoch && rules.has('new-epoch')) return;
    const seq = mistakes.has('keep-counter') ? Math.max(max, this.counter?.seq ?? 0) : max;
    const claims = this.counter?.claims ?? new Map<number, Claim>();
    this.counter = { epoch, seq, entries: 0, runId: this.server, inflight: new Map(), claims };
  }

  copy(): Counter | null {
    return this.counter && copyOf(this.counter);
  }

  /** A fail-over to a replica, or a restart with an old dump (null: with none). */
  replaceBy(counter: Counter | null): void {
    this.counter = counter && copyOf(counter);
    this.server += 1;
  }
}

const copyOf = (counter: Counter): Counter => ({
  ...counter,
  inflight: new Map([...counter.inflight].map(([seq, entry]) => [seq, { ...entry }])),
  claims: new Map(counter.claims),
});

/** MySQL as the transactions see it; each method is one transaction and so atomic, except one that is left open. */
export class ModelMysql {
  epoch = 0;
  readonly rows = new Map<number, number | 'void'>();
  readonly byClient = new Map<number, number>();
  /** Transactions whose client is gone and that may still commit. They hold the epoch's shared lock and their keys. */
  readonly open: Numbered[] = [];

  constructor(
    private readonly settings: Settings,
    private readonly random: Random,
    private readonly onStored: (seq: number) => void,
  ) {}

  append(row: Numbered): Appended {
    if (this.settings.rules.has('fence') && row.epoch !== this.epoch) return 'fenced';
    if (this.open.some((other) => other.client === row.client || other.seq === row.seq)) return 'waits';
    if (this.byClient.has(row.client)) return 'duplicate';
    if (this.rows.has(row.seq)) return 'taken';
    if (this.settings.accidents.has('unknown-outcome') && this.random.chance(0.15)) {
      this.open.push(row);
      return 'unknown';
    }
    this.store(row);
    return 'stored';
  }

  /** A void row at a number, under the same fence; `stored` when the number holds the message itself. */
  tombstone(row: Numbered): 'void' | 'stored' | 'fenced' | 'waits' {
    if (!this.settings.rules.has('tombstone')) return 'void';
    if (row.epoch !== this.epoch) return 'fenced';
    if (this.open.some((other) => other.seq === row.seq)) return 'waits';
    const holder = this.rows.get(row.seq);
    if (holder === undefined) this.rows.set(row.seq, 'void');
    return holder === row.client ? 'stored' : 'void';
  }

  /** A transaction that was left open commits or is rolled back. */
  endOpen(row: Numbered): void {
    this.open.splice(this.open.indexOf(row), 1);
    if (this.random.chance(0.6)) this.store(row);
  }

  get max(): number {
    return Math.max(0, ...this.rows.keys());
  }

  private store(row: Numbered): void {
    this.rows.set(row.seq, row.client);
    this.byClient.set(row.client, row.seq);
    this.onStored(row.seq);
  }
}
