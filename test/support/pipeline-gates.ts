import type { WriterSession } from '../../src/platform/mysql/writer-pool.js';
import { RedisUnavailable } from '../../src/platform/redis/redis-scripts.js';
import type { PipelineNode } from './pipeline.js';
import type { Hooks, Statement } from './pipeline-hooks.js';

/**
 * What happens to a call on its way. `lost` ones throw at the caller although the server did (`after`) or did not (`before`)
 * carry it out; `open` leaves a transaction open on the server, to be committed or rolled back later; `killed` has
 * the server end the connection while COMMIT runs.
 */
export type Fault = 'none' | 'lost-before' | 'lost-after' | 'open' | 'killed';

const never = <T>(): Promise<T> => new Promise<T>(() => undefined);

class ConnectionCut extends Error {
  readonly code = 'PROTOCOL_CONNECTION_LOST';
}

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
        throw new ConnectionCut();
      case 'lost-after':
        await run();
        throw new ConnectionCut();
      case 'open':
        this.leaveOpen(session, run);
        throw new ConnectionCut();
    }
  }

  /** Keeps the connection from its pool and its transaction from its end. */
  leaveOpen(session: WriterSession, commit: () => Promise<unknown>): void {
    const destroy = session.destroy.bind(session);
    session.destroy = () => undefined;
    session.release = () => undefined;
    this.openTransactions.push({
      end: async (committed) => {
        if (committed) await commit().catch(() => undefined);
        destroy();
      },
    });
  }
}

/** One run of a node's process: it can die at any moment, with its transactions open. */
export class GuardedProcess {
  private dead = false;
  private readonly gates = new Set<Gate>();
  private readonly sessions = new Map<WriterSession, Statement>();

  constructor(
    readonly node: PipelineNode,
    private readonly all: Gates,
  ) {
    const hooks: Hooks = node.hooks;
    hooks.script = (name, run) => this.hold(name, (fault) => lossy(run, fault));
    hooks.query = (sql, run) => (sql.startsWith('SELECT id, seqid') ? this.hold('rows', run) : this.alive(run));
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
      if (commitSent && statement.sql === 'COMMIT') this.all.leaveOpen(session, statement.run);
      else session.destroy();
    }
  }

  private statement(statement: Statement): Promise<unknown> {
    const { sql, session, run } = statement;
    if (this.dead) {
      session.destroy();
      return never();
    }
    if (sql === 'START TRANSACTION') {
      this.sessions.set(session, statement);
      return this.hold('begin', run);
    }
    if (sql === 'ROLLBACK') return run().finally(() => this.sessions.delete(session));
    if (sql !== 'COMMIT') return this.alive(run);
    this.sessions.set(session, statement);
    return this.hold('commit', (fault) =>
      this.all.commit(statement, fault).finally(() => this.sessions.delete(session)),
    );
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
