import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { circuitBreaker, ConsecutiveBreaker, handleAll, isBrokenCircuitError } from 'cockatiel';
import { Redis, ReplyError } from 'ioredis';
import { ENV, type Env } from '../env/env.js';
import { Logger } from '../observe/logger.js';
import { Metrics } from '../observe/metrics.js';
import { RedisClients } from './redis-clients.js';
import { Silence } from './silence.js';

/** Redis did not answer, or not in time; the command may or may not have run. Callers decide what that means. */
export class RedisUnavailable extends Error {
  constructor(options?: ErrorOptions) {
    super('Redis does not answer', options);
    this.name = 'RedisUnavailable';
  }
}

/**
 * Redis answered, with an error: a fault of the command, or of the server's set-up (a user without rights). To callers it
 * is as unusable as one that is away: what may go on without Redis does, and no check is passed. The log says what it was.
 */
export class RedisFault extends RedisUnavailable {
  constructor(scriptName: string, options: ErrorOptions) {
    super(options);
    this.name = 'RedisFault';
    this.message = `redis script ${scriptName} failed`;
  }
}

export interface RedisScript {
  readonly name: string;
  readonly source: string;
  readonly sha: string;
}

/**
 * Reads `lua/<verb>.lua` beside the calling module's file. A line `--@include <name>` is replaced by `lua/<name>.lua`,
 * since Redis has no way to share a function between scripts.
 */
export function loadScript(folder: string, verb: string): RedisScript {
  const read = (name: string): string => readFileSync(join(folder, 'lua', `${name}.lua`), 'utf8');
  const source = read(verb).replace(/^--@include (\w+)$/gm, (_line, name: string) => read(name));
  return { name: verb, source, sha: createHash('sha1').update(source).digest('hex') };
}

/** An error that Redis answered says that it is alive; only these mean that it cannot be used now. */
const UNUSABLE_REPLY =
  /^(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|MOVED|ASK|OOM|MISCONF|NOREPLICAS|BUSY|NOAUTH|WRONGPASS)/;

/** How long an open breaker refuses at once before it lets one command try again. */
const HALF_OPEN_AFTER_MS = 500;
const FAULT_LOG_MS = 10_000;

/**
 * Runs commands and Lua scripts on the command connection: one round trip each, timed, behind a circuit breaker, so that
 * a Redis that fails costs a few callers an error, and a frozen one those who ask first one time-out; everybody after them nothing.
 */
@Injectable()
export class RedisScripts implements OnApplicationShutdown {
  private readonly breaker = circuitBreaker(handleAll, {
    halfOpenAfter: HALF_OPEN_AFTER_MS,
    breaker: new ConsecutiveBreaker(8),
  });
  private readonly silence = new Silence(
    () => this.clients.command.ping(),
    (isSilent) => this.tell(isSilent),
  );
  private readonly seconds;
  private readonly totalMs: number;
  private readonly faultToldMs = new Map<string, number>();

  constructor(
    private readonly clients: RedisClients,
    @Inject(ENV) env: Env,
    private readonly log: Logger,
    metrics: Metrics,
  ) {
    // Redirections and reconnects of ioredis come on top of its own command time-out; a caller must be answered within 1 s.
    this.totalMs = Math.max(env.REDIS_READ_TIMEOUT_MS, env.REDIS_WRITE_TIMEOUT_MS) + 100;
    this.seconds = metrics.histogram('im_redis_command_seconds', 'Time of a Redis script or command', ['script']);
    this.breaker.onBreak(() => this.tell(true));
    this.breaker.onReset(() => this.tell(false));
  }

  /**
   * @param keys all share one hash tag
   * @throws RedisUnavailable when there is no usable answer; RedisFault for an error that Redis answered
   */
  run(script: RedisScript, keys: readonly string[], args: readonly (string | number | Buffer)[]): Promise<unknown> {
    return this.guarded(script.name, () => {
      cork(this.clients.command);
      return this.evaluate(script, keys, args);
    });
  }

  /**
   * A script and a read that sees Redis as it is after it, in one round trip where that order is certain: one connection
   * carries out its commands as they were sent. A cluster's client may send the script again later; there the read waits.
   * @throws as `run`
   */
  runThen<T>(
    script: RedisScript,
    keys: readonly string[],
    args: readonly (string | number | Buffer)[],
    read: (client: RedisClients['command']) => Promise<T>,
  ): Promise<[reply: unknown, read: T]> {
    return this.guarded(script.name, async () => {
      const client = this.clients.command;
      if (client instanceof Redis) {
        cork(client);
        const running = client.evalsha(script.sha, keys.length, ...keys, ...args);
        const [ran, got] = await Promise.allSettled([running, read(client)]);
        const failed = [ran, got].find((one) => one.status === 'rejected');
        if (!failed) return [(ran as PromiseFulfilledResult<unknown>).value, (got as PromiseFulfilledResult<T>).value];
        if (!isNoScript(failed.reason)) throw failed.reason as Error;
      }
      return [await this.evaluate(script, keys, args), await read(client)];
    });
  }

  /** Any single command of the command connection, with the same guard. `name` labels its time. */
  command<T>(name: string, call: (client: RedisClients['command']) => Promise<T>): Promise<T> {
    return this.guarded(name, () => call(this.clients.command));
  }

  onApplicationShutdown(): void {
    this.silence.stop();
  }

  private tell(isAway: boolean): void {
    if (isAway) this.log.error({}, 'redis does not answer: commands are refused at once until it does');
    else this.log.info({}, 'redis answers again');
  }

  private async evaluate(
    script: RedisScript,
    keys: readonly string[],
    args: readonly (string | number | Buffer)[],
  ): Promise<unknown> {
    try {
      return await this.clients.command.evalsha(script.sha, keys.length, ...keys, ...args);
    } catch (error) {
      if (!isNoScript(error)) throw error;
      return this.clients.command.eval(script.source, keys.length, ...keys, ...args);
    }
  }

  private async guarded<T>(name: string, call: () => Promise<T>): Promise<T> {
    if (this.silence.is) throw new RedisUnavailable();
    const stop = this.seconds.startTimer({ script: name });
    let outcome: Outcome<T>;
    try {
      outcome = await this.breaker.execute(() => this.outcomeOf(call));
    } catch (error) {
      throw new RedisUnavailable({ cause: isBrokenCircuitError(error) ? undefined : error });
    } finally {
      stop();
    }
    if ('fault' in outcome) throw this.faultOf(name, outcome.fault);
    return outcome.value;
  }

  /** Told once in a while for each script: callers may get around it, but somebody has to mend it. */
  private faultOf(name: string, cause: unknown): RedisFault {
    const now = Date.now();
    if (now - (this.faultToldMs.get(name) ?? 0) > FAULT_LOG_MS) {
      this.faultToldMs.set(name, now);
      this.log.error({ script: name, error: (cause as Error).message }, 'redis answered a command with an error');
    }
    return new RedisFault(name, { cause });
  }

  /** An error that a living Redis answered is a fault of the command, not one of the connection: the breaker must not count it. */
  private async outcomeOf<T>(call: () => Promise<T>): Promise<Outcome<T>> {
    const sentAtMs = performance.now();
    try {
      const value = await withTimeout(call(), this.totalMs);
      this.silence.answered();
      return { value };
    } catch (error) {
      if (error instanceof ReplyError) this.silence.answered();
      else if (isTimeout(error)) await this.silence.gaveUp(sentAtMs);
      if (!(error instanceof ReplyError) || UNUSABLE_REPLY.test((error as Error).message)) throw error;
      return { fault: error };
    }
  }
}

/**
 * Commands that are sent in the same turn of the event loop leave in one write: after a group commit that is one system
 * call for all its settlements, and one wake-up of Redis. Alone it costs nothing measurable.
 */
function cork(client: RedisClients['command']): void {
  if (!(client instanceof Redis)) return;
  const { stream } = client as unknown as { stream?: Socket };
  if (!stream || stream.writableCorked > 0) return;
  stream.cork();
  process.nextTick(() => stream.uncork());
}

const isNoScript = (error: unknown): boolean => error instanceof Error && error.message.startsWith('NOSCRIPT');

/** Nothing came back in time. */
class NoAnswer extends Error {}

/** The client library's own command time-out has no class. */
const isTimeout = (error: unknown): boolean =>
  error instanceof NoAnswer || (error instanceof Error && error.message === 'Command timed out');

type Outcome<T> = { readonly value: T } | { readonly fault: unknown };

function withTimeout<T>(promise: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const timer = setTimeout(() => reject(new NoAnswer(`no answer within ${timeoutMs} ms`)), timeoutMs);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
