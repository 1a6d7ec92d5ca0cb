import { CommitUnknown, type WriterSession } from '../../src/platform/mysql/writer-pool.js';
import { RedisUnavailable } from '../../src/platform/redis/redis-scripts.js';
import type { PipelineNode } from './pipeline.js';
import type { Hooks, Statement } from './pipeline-hooks.js';

/**
 * What happens to a call on its way. `lost` ones throw at the caller although the server did (`after`) or did not (`before`)
 * carry it out; `open` leaves a transaction open on the server, to be committed or rolled back later; `killed` has
 * the server end the connection while COMMIT runs.
 */
export type Fault = 'none' | 'lost-before' | 'lost-after' | 'open' | 'killed';

/** The rows of a page. */
const PAGE_ROWS = /FROM im_group_messages[^(]*ORDER BY seqid/;

const never = <T>(): Promise<T> => new Promise<T>(() => undefined);

/** A call that waits for its turn. */
export interface Gate {
  readonly what: string;
  /** @returns when the call has been answered, if it is */
  pass(fault: Fault): Promise<void>;
}

/** A transaction whose client side is gone. */
export interface OpenTransaction {
  end(commit: boolean): Promise<void>;
}

/** Every script and transaction of the processes waits here until the schedule lets it pass. */
export class Gates {
  /** Calls go straight through while this is set. */
  open = false;
  readonly waiting: Gate[] = [];
  readonly openTransactions: OpenTransaction[] = [];
  private readonly onTheirWay: Promise<void>[] = [];

  constructor(private readonly kill: (connectionId: number) => Promise<unknown>) {}

  /** Stands before a node's calls. */
  guard(node: PipelineNode): GuardedProcess {
    return new GuardedProcess(node, this);
  }

  /** A call that is answered when the schedule says so. */
  hold<T>(what: string, call: (fault: Fault) => Promise<T>): Promise<T> {
    if (this.open) return call('none');
    return new Promise<T>((resolve, reject) => {
      this.waiting.push({
        what,
        pass: (fault) => call(fault).then(resolve, (error: unknown) => reject(error as Error)),
      });
    });
  }

  /** Lets everything pass from now on, what waits already included. */
  openAll(): void {
    this.open = true;
    for (const gate of this.waiting.splice(0)) void gate.pass('none');
  }

  async commit(statement: Statement, fault: Fault): Promise<unknown> {
    const { session, run } = statement;
    switch (fault) {
      case 'none':
        return run();
      case 'killed': {
        const answer = run();
        await this.kill(statement.connectionId).catch(() => undefined);
        return answer;
      }
      case 'lost-before':
        session.destroy();
        throw new CommitUnknown({});
      case 'lost-after':
        await run();
        session.destroy();
        throw new CommitUnknown({});
      case 'open':
        await statement.writeOnly();
        this.leaveOpen(statement);
        throw new CommitUnknown({});
    }
  }

  /** A process died after it had sent its last write and COMMIT; the server is on its way. */
  leaveOpenSoon(statement: Statement): void {
    const written = statement.writeOnly().then(
      () => this.leaveOpen(statement),
      () => statement.session.destroy(),
    );
    this.onTheirWay.push(written);
  }

  /** Ends every transaction that was left open. */
  async endOpen(): Promise<void> {
    await Promise.all(this.onTheirWay.splice(0));
    for (const transaction of this.openTransactions.splice(0)) await transaction.end(true);
  }

  /** Keeps the connection from its pool and its transaction from its end. */
  leaveOpen({ session, commitOnly }: Statement): void {
    const destroy = session.destroy.bind(session);
    Object.assign(session, { destroy: () => undefined, release: () => undefined, rollback: async () => undefined });
    this.openTransactions.push({
      end: async (committed) => {
        if (committed) await commitOnly().catch(() => undefined);
        destroy();
      },
    });
  }
}

/** One run of a node's process: it can die at any moment, with its transactions open. */
export class GuardedProcess {
  private dead = false;
  private readonly gates = new Set<Gate>();
  /** What its connections do at this moment. */
  private readonly sessions = new Map<WriterSession, Statement>();
  /** COMMITs that were not sent yet. */
  private readonly waits = new Set<Statement>();

  constructor(
    readonly node: PipelineNode,
    private readonly all: Gates,
  ) {
    const hooks: Hooks = node.hooks;
    hooks.script = (name, run) => this.hold(name, (fault) => lossy(run, fault));
    hooks.query = (sql, run) => (PAGE_ROWS.test(sql) ? this.hold('rows', run) : this.alive(run));
    hooks.statement = (statement) => this.statement(statement);
  }

  /** Its calls are never answered again. The server rolls its transactions back, or commits one that was sent already. */
  die(commitSent: boolean): void {
    this.dead = true;
    for (const gate of this.gates) {
      const place = this.all.waiting.indexOf(gate);
      if (place >= 0) this.all.waiting.splice(place, 1);
    }
    for (const [session, statement] of this.sessions) {
      const sent = commitSent && statement.kind === 'commit' && this.waits.has(statement);
      if (sent) this.all.leaveOpenSoon(statement);
      else session.destroy();
    }
  }

  private statement(statement: Statement): Promise<unknown> {
    const { kind, session, run } = statement;
    if (this.dead) {
      session.destroy();
      return never();
    }
    switch (kind) {
      case 'begin':
        this.sessions.set(session, statement);
        return this.hold('begin', run);
      case 'statement':
        return this.alive(run);
      case 'rollback':
        this.sessions.delete(session);
        return run();
      case 'commit':
        this.sessions.set(session, statement);
        this.waits.add(statement);
        return this.hold('commit', (fault) => {
          this.waits.delete(statement);
          return this.all.commit(statement, fault).finally(() => this.sessions.delete(session));
        });
    }
  }

  private hold<T>(what: string, call: (fault: Fault) => Promise<T>): Promise<T> {
    if (this.dead) return never();
    const before = this.all.waiting.length;
    const answer = this.all.hold(what, call);
    const gate = this.all.waiting.at(before);
    if (gate) this.gates.add(gate);
    return this.alive(() => answer);
  }

  /** The answer, unless the process died meanwhile. */
  private async alive<T>(call: () => Promise<T>): Promise<T> {
    try {
      const value = await call();
      return this.dead ? await never<T>() : value;
    } catch (error) {
      if (this.dead) return never<T>();
      throw error;
    }
  }
}

async function lossy<T>(run: () => Promise<T>, fault: Fault): Promise<T> {
  if (fault === 'lost-before') throw new RedisUnavailable();
  const value = await run();
  if (fault === 'lost-after') throw new RedisUnavailable();
  return value;
}
