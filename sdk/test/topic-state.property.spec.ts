import fc from 'fast-check';
import { TopicState, type Outcome } from '../src/topic-state.js';
import type { HistoryPage, Message, MessageChange } from '../src/wire.js';
import { FakeTopic } from './support/fake-topic.js';

const TOPIC = 'grp_1';

type Frame = { messages: Message[]; voids: number[] } | { change: MessageChange };
interface Ask {
  afterSeq: number | undefined;
  limit: number;
  stableSeq: number;
  page?: HistoryPage;
}

type Op =
  | { kind: 'number' }
  | { kind: 'store'; pick: number }
  | { kind: 'tombstone'; pick: number; told: boolean }
  | { kind: 'change'; pick: number; recall: boolean }
  | { kind: 'deliver'; pick: number; twice: boolean }
  | { kind: 'deliverTogether' }
  | { kind: 'drop'; pick: number }
  | { kind: 'ask'; limit: number; lag: number; readOn: boolean }
  | { kind: 'pull'; limit: number; lag: number; readOn: boolean }
  | { kind: 'read'; pick: number }
  | { kind: 'arrive'; pick: number; lost: boolean; twice: boolean }
  | { kind: 'older'; limit: number }
  | { kind: 'hide'; pick: number }
  | { kind: 'ack'; pick: number }
  | { kind: 'changes'; limit: number };

const pick = fc.nat(50);
const opOf = (kind: Op['kind'], fields: Record<string, fc.Arbitrary<unknown>> = {}): fc.Arbitrary<Op> =>
  fc.record({ kind: fc.constant(kind), ...fields }) as fc.Arbitrary<Op>;
const often = (weight: number, arbitrary: fc.Arbitrary<Op>) => ({ weight, arbitrary });
const limit = fc.integer({ min: 1, max: 4 });
const ops = fc.array(
  fc.oneof(
    often(6, opOf('number')),
    often(5, opOf('store', { pick })),
    often(2, opOf('tombstone', { pick, told: fc.boolean() })),
    often(2, opOf('change', { pick, recall: fc.boolean() })),
    often(6, opOf('deliver', { pick, twice: fc.boolean() })),
    often(1, opOf('deliverTogether')),
    often(1, opOf('drop', { pick })),
    often(4, opOf('ask', { limit, lag: fc.nat(3), readOn: fc.boolean() })),
    often(4, opOf('pull', { limit, lag: fc.nat(1), readOn: fc.boolean() })),
    often(4, opOf('read', { pick })),
    often(4, opOf('arrive', { pick, lost: fc.boolean(), twice: fc.boolean() })),
    often(1, opOf('older', { limit })),
    often(1, opOf('hide', { pick })),
    often(1, opOf('ack', { pick })),
    often(1, opOf('changes', { limit })),
  ),
  { minLength: 10, maxLength: 120, size: 'max' },
);

const isAscending = (seqs: number[]): boolean => seqs.every((seq, i) => i === 0 || seq > seqs[i - 1]);

/** One server, one client and a network between them that does what it likes. */
class World {
  readonly server = new FakeTopic(TOPIC);
  readonly state: TopicState;
  readonly frames: Frame[] = [];
  readonly asks: Ask[] = [];
  readonly shown: number[] = [];
  readonly passed: number[] = [];
  nextAfterSeq: number | undefined;
  startedAt: number | undefined;

  constructor(newDevice: boolean, windowLimit: number) {
    const start = newDevice ? undefined : { cursor: 0, changeCursor: 0 };
    this.state = new TopicState(TOPIC, windowLimit, start);
    if (!newDevice) this.startedAt = 0;
  }

  take(outcome: Outcome): void {
    this.shown.push(...outcome.shown.map(({ seq }) => seq));
    this.passed.push(...outcome.passed.map(({ seq }) => seq));
    this.check();
  }

  /** Plain comparisons: this runs after every step, and `expect` is slow. */
  check(): void {
    const { state, server, shown, passed } = this;
    const cursor = state.cursor ?? 0;
    if (new Set(shown).size !== shown.length) throw new Error(`shown twice: ${shown.join()}`);
    if (!isAscending(passed)) throw new Error(`passed out of order: ${passed.join()}`);
    if (!isAscending(state.messages().map(({ seq }) => seq))) throw new Error('the window is out of order');
    // nothing that is not stored yet is ever at or below the cursor
    for (const seq of server.inFlight)
      if (seq <= cursor) throw new Error(`the cursor ${cursor} passed ${seq} too early`);
    if (cursor > server.lastSeq) throw new Error(`the cursor ${cursor} is above ${server.lastSeq}`);
  }

  run(op: Op): void {
    const { server, frames } = this;
    const at = <T>(items: Iterable<T>, index: number): T | undefined =>
      [...items][index % Math.max(1, [...items].length)];
    switch (op.kind) {
      case 'number':
        server.number();
        return;
      case 'store': {
        const seq = at(server.inFlight, op.pick);
        if (seq !== undefined) frames.push({ messages: [server.store(seq)], voids: [] });
        return;
      }
      case 'tombstone': {
        const seq = at(server.inFlight, op.pick);
        if (seq === undefined) return;
        server.tombstone(seq);
        if (op.told) frames.push({ messages: [], voids: [seq] });
        return;
      }
      case 'change': {
        const row = at(server.rows.keys(), op.pick);
        if (row !== undefined) frames.push({ change: server.change(row, op.recall ? 'recalled' : 'normal') });
        return;
      }
      case 'deliver':
      case 'drop': {
        const frame = at(frames, op.pick);
        if (!frame) return;
        if (op.kind === 'deliver') this.deliver(frame);
        if (op.kind === 'drop' || !op.twice) frames.splice(frames.indexOf(frame), 1);
        return;
      }
      case 'deliverTogether': {
        const all = frames.splice(0).flatMap((frame) => ('change' in frame ? [] : [frame]));
        const messages = new Map(all.flatMap((frame) => frame.messages).map((message) => [message.seq, message]));
        const sorted = [...messages.values()].sort((a, b) => a.seq - b.seq);
        this.deliver({ messages: sorted, voids: all.flatMap((frame) => frame.voids) });
        return;
      }
      default:
        this.runCall(op);
    }
  }

  private runCall(op: Op): void {
    const { server, state, asks } = this;
    switch (op.kind) {
      case 'pull':
      case 'ask': {
        const afterSeq =
          state.cursor === null ? undefined : op.readOn ? (this.nextAfterSeq ?? state.cursor) : state.cursor;
        // a client asks the head before its first page
        if (!state.head) this.head();
        // `stableSeq` is read before the rows, and a server in doubt gives an older one
        const ask = { afterSeq, limit: op.limit, stableSeq: Math.max(0, server.stableSeq - op.lag) };
        if (op.kind === 'ask') asks.push(ask);
        else this.arrive(afterSeq, server.page(ask));
        return;
      }
      case 'read': {
        const ask = asks[op.pick % Math.max(1, asks.length)];
        if (ask) ask.page ??= server.page(ask);
        return;
      }
      case 'arrive': {
        const ask = asks[op.pick % Math.max(1, asks.length)];
        if (!ask?.page) return;
        if (!op.lost) this.arrive(ask.afterSeq, ask.page);
        if (!op.twice) asks.splice(asks.indexOf(ask), 1);
        return;
      }
      case 'older':
        if (state.cursor !== null) {
          this.take(state.applyOlder(server.page({ beforeSeq: state.olderBefore, limit: op.limit })).outcome);
        }
        return;
      case 'hide': {
        const seq = [...server.rows.keys()][op.pick % Math.max(1, server.rows.size)];
        if (seq === undefined) return;
        server.hidden.add(seq);
        this.take(state.applyHidden([seq]));
        return;
      }
      case 'ack': {
        const rows = [...server.rows.values()].filter(({ version }) => version === 1);
        const row = rows[op.pick % Math.max(1, rows.length)];
        if (row) this.take(state.applyOwnSend(row));
        return;
      }
      case 'changes':
        this.pullChanges(op.limit);
        return;
      default:
        throw new Error(op.kind);
    }
  }

  deliver(frame: Frame): void {
    this.take('change' in frame ? this.state.applyChange(frame.change) : this.state.applyFrame(frame));
  }

  arrive(afterSeq: number | undefined, page: HistoryPage): void {
    const before = this.state.cursor;
    const outcome = this.state.applyPage(afterSeq, page);
    if (before === null && this.state.cursor !== null)
      this.startedAt = (page.messages.at(0)?.seq ?? page.stableSeq + 1) - 1;
    this.take(outcome);
    this.nextAfterSeq = page.hasMore ? page.nextAfterSeq : undefined;
  }

  pullChanges(size: number): void {
    const from = this.state.changes.cursor();
    if (from !== null) this.take(this.state.applyChangesPage(from, this.server.changesPage(from, size)));
  }

  head(): void {
    const { lastSeq, stableSeq, changes } = this.server;
    this.state.applyHead({ topic: TOPIC, lastSeq, stableSeq, readSeq: 0, lastChange: changes.length });
  }

  /** What the client does when all is well again: reads on until it has seen everything. */
  settle(): void {
    const { server, state } = this;
    for (const seq of [...server.inFlight]) {
      if (seq % 2) server.store(seq);
      else server.tombstone(seq);
    }
    this.head();
    if (state.cursor === null) this.arrive(undefined, server.page({ limit: 3 }));
    while ((state.cursor ?? 0) < server.lastSeq) {
      const before = state.cursor ?? 0;
      this.arrive(before, server.page({ afterSeq: before, limit: 3 }));
      if ((state.cursor ?? 0) <= before) throw new Error(`a whole page did not move the cursor ${before}`);
    }
    while (state.changes.behind()) this.pullChanges(2);
  }
}

describe('TopicState against a server and a network that misbehave', () => {
  const play = (newDevice: boolean, windowLimit: number, script: Op[]): World => {
    const world = new World(newDevice, windowLimit);
    for (const op of script) {
      world.run(op);
      world.check();
    }
    world.settle();
    return world;
  };

  it('ends with exactly the stored messages, in order, once each, whatever came how often in which order', () => {
    fc.assert(
      fc.property(fc.boolean(), ops, (newDevice, script) => {
        const world = play(newDevice, 1000, script);
        const from = world.startedAt ?? 0;
        const stored = world.server.messages().filter(({ seq }) => seq > from);
        const window = world.state.messages().filter(({ seq }) => seq > from);
        expect(window).toEqual(stored);
        expect(world.state.cursor).toBe(world.server.lastSeq);
        expect(world.state.behind).toBe(false);
      }),
      { seed: 4711, numRuns: 400 },
    );
  });

  it('tells every message once: as it comes, and in order when the cursor passes it', () => {
    fc.assert(
      fc.property(ops, (script) => {
        const world = play(false, 1000, script);
        const seen = [...world.shown].sort((a, b) => a - b);
        const expected = world.server.messages().map(({ seq }) => seq);
        expect(seen.filter((seq) => !world.server.hidden.has(seq))).toEqual(expected);
        expect(world.passed.filter((seq) => !world.server.hidden.has(seq))).toEqual(expected);
      }),
      { seed: 4712, numRuns: 300 },
    );
  });

  it('keeps both promises with a window far smaller than what is held', () => {
    fc.assert(
      fc.property(ops, (script) => {
        const world = new World(false, 2);
        for (const op of script) world.run(op);
        world.settle();
        const expected = world.server.messages().map(({ seq }) => seq);
        const visible = (seqs: number[]): number[] => seqs.filter((seq) => !world.server.hidden.has(seq));
        expect(visible(world.passed)).toEqual(expected);
        expect(visible(world.shown).sort((a, b) => a - b)).toEqual(expected);
        expect(world.state.messages().length).toBeLessThanOrEqual(2);
      }),
      { seed: 4713, numRuns: 400 },
    );
  });
});
