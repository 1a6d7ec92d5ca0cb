import type { MessagesFrame, SendAnswer } from '../../src/modules/group-message/group-message.types.js';
import type { Topic } from '../../src/platform/ids/ids.js';
import { toAppError } from '../../src/platform/errors/to-app-error.js';
import { Gates, type Fault, type Gate, type GuardedProcess } from './pipeline-gates.js';
import { CursorReader } from './pipeline-reader.js';
import { actor, draft, type Machine, type PipelineWorld } from './pipeline.js';
import { TopicKeys, type Disturbance } from './pipeline-topic-keys.js';
import { until } from './until.js';

export type ActionKind =
  | 'send'
  | 'retry'
  | 'step'
  | 'lose'
  | 'cut'
  | 'read'
  | 'hear'
  | 'crash'
  | 'expire'
  | 'snapshot'
  | 'roll-back'
  | 'flush'
  | 'lose-key'
  | 'end-open';

/** What happens to Redis after the last send. */
export type LastAccident = Exclude<Disturbance, 'expire' | 'snapshot'> | null;

/** One step of a schedule; `a` and `b` choose among what there is at that moment. */
export interface Action {
  readonly kind: ActionKind;
  readonly a: number;
  readonly b: number;
}

const MAX_SENDS = 5;
/** How long a step waits for a call that a lock holds up, before the schedule goes on. */
const STEP_MS = 30;
/** The server ends a transaction that nobody goes on with after 10 s; until then its locks may be in the way. */
const RECOVERY_MS = 20_000;
const COMMIT_FAULTS: readonly Fault[] = ['lost-before', 'lost-after', 'open', 'killed'];
/** What a sender may be told while things break; all of them say: again, with the same id. */
const MAY_BE_TOLD = new Set(['SEQ_UNAVAILABLE', 'STORAGE_UNAVAILABLE', 'IN_PROGRESS']);

interface Send {
  readonly client: number;
  readonly process: GuardedProcess;
}

const clientId = (client: number): string => `m${client}`;
const senderOf = (client: number): string => (client % 2 === 0 ? '2' : '3');
const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A topic, three processes on three machines, two readers, and a list of what happens. Ends with the promise checked. */
export class PipelineSchedule {
  readonly log: string[] = [];
  private readonly gates: Gates;
  private readonly processes: GuardedProcess[];
  private readonly frames: MessagesFrame[] = [];
  private readonly readers: CursorReader[];
  private readonly heard = [0, 0];
  private readonly sends = new Set<Send>();
  private readonly acked = new Map<number, SendAnswer>();
  /** Why a client was refused last. */
  private readonly refused = new Map<number, { retryAfterMs: number; why: string }>();
  private readonly violations: string[] = [];
  private clients = 0;

  private constructor(
    private readonly world: PipelineWorld,
    private readonly machines: readonly Machine[],
    private readonly topic: Topic,
    private readonly keys: TopicKeys,
  ) {
    this.gates = new Gates((connectionId) => world.sql(`KILL ${connectionId}`));
    this.processes = machines.map((_, slot) => this.start(slot));
    this.readers = [0, 1].map(() => new CursorReader(topic, (what) => this.violations.push(what)));
  }

  static async begin(world: PipelineWorld, machines: readonly Machine[]): Promise<PipelineSchedule> {
    const topic = await world.group(3);
    return new PipelineSchedule(world, machines, topic, new TopicKeys(world, topic));
  }

  /** @returns the broken promises; none when all is well */
  async run(actions: readonly Action[], last: LastAccident): Promise<readonly string[]> {
    for (const action of actions) await this.act(action);
    await this.endFaults();
    // Nobody sends any more: what goes wrong now must be noticed by readers alone.
    if (last) await this.keys.disturb(last, 1, this.clients);
    await this.expectReadersToArrive('a quiet topic');
    await this.expectSendingToResume();
    await this.world.expire(this.topic);
    await this.expectReadersToArrive('after the last send');
    await this.check();
    return this.violations;
  }

  private start(slot: number): GuardedProcess {
    const node = this.world.nodeOn(this.machines[slot]);
    node.frames.push = (...frames) => this.frames.push(...frames);
    return this.gates.guard(node);
  }

  private async act({ kind, a, b }: Action): Promise<void> {
    const process = this.processes[b % this.processes.length];
    const { waiting, openTransactions } = this.gates;
    switch (kind) {
      case 'send':
        if (this.sends.size < MAX_SENDS) this.send((this.clients += 1), process);
        break;
      case 'retry':
        if (this.clients > 0 && this.sends.size < MAX_SENDS) this.send(1 + (a % this.clients), process);
        break;
      case 'step':
        return this.pass(waiting.splice(a % Math.max(1, waiting.length), 1)[0], 'none');
      case 'lose':
      case 'cut':
        return this.passWithFault(kind, a, b);
      case 'read':
        void this.readers[a % this.readers.length].read(process);
        break;
      case 'hear':
        this.hear(a % this.readers.length, b);
        break;
      case 'crash':
        this.crash(b % this.processes.length, a % 2 === 0);
        break;
      case 'end-open':
        if (openTransactions.length > 0) {
          await openTransactions.splice(a % openTransactions.length, 1)[0].end(b % 2 === 0);
        }
        break;
      default:
        await this.keys.disturb(kind, a, this.clients);
    }
    this.log.push(kind);
    await tick();
  }

  private async pass(gate: Gate | undefined, fault: Fault): Promise<void> {
    if (!gate) return;
    this.log.push(fault === 'none' ? gate.what : `${gate.what} (${fault})`);
    await Promise.race([gate.pass(fault), new Promise((resolve) => setTimeout(resolve, STEP_MS))]);
    for (let turn = 0; turn < 3; turn += 1) await tick();
  }

  /** `lose` a reply of Redis, or `cut` the connection of a transaction that commits. */
  private async passWithFault(kind: 'lose' | 'cut', a: number, b: number): Promise<void> {
    const { waiting } = this.gates;
    const able = waiting.filter((gate) =>
      kind === 'cut' ? gate.what === 'commit' : !/^(commit|begin|rows)$/.test(gate.what),
    );
    if (able.length === 0) return;
    const gate = able[a % able.length];
    waiting.splice(waiting.indexOf(gate), 1);
    const faults: readonly Fault[] = kind === 'cut' ? COMMIT_FAULTS : ['lost-before', 'lost-after'];
    await this.pass(gate, faults[b % faults.length]);
  }

  private send(client: number, process: GuardedProcess): void {
    const send: Send = { client, process };
    this.sends.add(send);
    process.node.sends.send(actor(senderOf(client)), draft(this.topic, clientId(client))).then(
      (answer) => {
        this.sends.delete(send);
        this.acknowledge(client, answer);
      },
      (error: unknown) => {
        this.sends.delete(send);
        const { code, message, retryAfterMs, cause } = toAppError(error);
        this.refused.set(client, { retryAfterMs: retryAfterMs ?? 50, why: `${code} (${String(cause)})` });
        if (!MAY_BE_TOLD.has(code))
          this.violations.push(`a sender was told ${code}: ${message}; ${String((error as Error).stack)}`);
      },
    );
  }

  private acknowledge(client: number, answer: SendAnswer): void {
    const before = this.acked.get(client);
    if (before && (before.seq !== answer.seq || before.messageId !== answer.messageId)) {
      this.violations.push(`${clientId(client)} was acknowledged as seq ${before.seq} and as seq ${answer.seq}`);
    }
    this.acked.set(client, answer);
  }

  /** A reader hears the next frames, or misses them. */
  private hear(reader: number, b: number): void {
    const frame = this.frames.at(this.heard[reader]);
    if (!frame) return;
    this.heard[reader] += 1;
    if (b % 4 !== 0) this.readers[reader].hear(frame);
  }

  private crash(slot: number, commitSent: boolean): void {
    const dead = this.processes[slot];
    dead.die(commitSent);
    for (const send of this.sends) if (send.process === dead) this.sends.delete(send);
    for (const reader of this.readers) reader.reconnect();
    this.processes[slot] = this.start(slot);
  }

  private async endFaults(): Promise<void> {
    await this.gates.endOpen();
    this.gates.openAll();
    await until('all sends are answered', () => this.sends.size === 0, 20_000);
    await until('all readers are answered', () => this.readers.every((reader) => !reader.busy));
    await this.world.expire(this.topic);
  }

  private async lastStored(): Promise<number> {
    return (await this.world.rows(this.topic)).findLast((row) => row.status !== 'void')?.seq ?? 0;
  }

  /** Nobody sends; reading alone must bring every reader to the newest message. */
  private async expectReadersToArrive(when: string): Promise<void> {
    const newest = await this.lastStored();
    for (const reader of this.readers) {
      reader.reconnect();
      const arrive = async (): Promise<boolean> => {
        await reader.read(this.processes[0]);
        return reader.cursor >= newest;
      };
      await until('the reader arrives', arrive, RECOVERY_MS).catch(() => {
        this.violations.push(`${when}: a reader stays at ${reader.cursor} below the newest message ${newest}`);
      });
    }
  }

  /** Every id that has no answer is sent again, and one more message from each node. */
  private async expectSendingToResume(): Promise<void> {
    const again = Array.from({ length: this.clients }, (_, index) => index + 1).filter(
      (client) => !this.acked.has(client),
    );
    const more = this.processes.map(() => (this.clients += 1));
    for (const [index, client] of [...again, ...more].entries()) {
      const endAtMs = performance.now() + RECOVERY_MS;
      for (let tries = 0; (tries < 5 || performance.now() < endAtMs) && !this.acked.has(client); tries += 1) {
        this.send(client, this.processes[index % this.processes.length]);
        await until('the send is answered', () => this.sends.size === 0);
        if (this.acked.has(client)) break;
        await this.world.expire(this.topic);
        // A client comes back when it was told to.
        await new Promise((resolve) => setTimeout(resolve, this.refused.get(client)?.retryAfterMs ?? 50));
      }
      if (this.acked.has(client)) continue;
      this.violations.push(`sending ${clientId(client)} does not resume: ${this.refused.get(client)?.why}`);
    }
  }

  private async check(): Promise<void> {
    const rows = await this.world.rows(this.topic);
    const bySeq = new Map(rows.map((row) => [row.seq, row]));
    const messages = rows.filter((row) => row.status !== 'void');
    const ids = messages.map((row) => `${row.from} ${row.clientMsgId}`);
    if (new Set(ids).size !== ids.length) this.violations.push(`a client id has two rows: ${ids.join(', ')}`);
    for (const [client, answer] of this.acked) {
      const row = bySeq.get(answer.seq);
      const same =
        row?.id === answer.messageId && row.clientMsgId === clientId(client) && row.from === senderOf(client);
      if (!same)
        this.violations.push(
          `${clientId(client)} was acknowledged as seq ${answer.seq}, which holds ${row?.clientMsgId}`,
        );
    }
    const expected = messages.map((row) => `${row.seq} ${row.clientMsgId}`).join(', ');
    for (const reader of this.readers) {
      const known = [...reader.known].sort(([one], [other]) => one - other).map(([seq, id]) => `${seq} ${id}`);
      if (known.join(', ') !== expected) this.violations.push(`a reader has ${known.join(', ')} and not ${expected}`);
    }
    for (const frame of this.frames) {
      for (const message of frame.messages) {
        const row = bySeq.get(message.seq);
        if (row?.id !== message.id || row.clientMsgId !== message.clientMsgId) {
          this.violations.push(
            `a frame told of seq ${message.seq} as ${message.clientMsgId}; stored is ${row?.clientMsgId}`,
          );
        }
      }
      for (const seq of frame.voids) {
        if (bySeq.get(seq)?.status !== 'void') this.violations.push(`a frame called seq ${seq} void, which it is not`);
      }
    }
  }
}
