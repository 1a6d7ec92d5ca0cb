import { randomUUID } from 'node:crypto';
import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request, Response } from 'express';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { AppError, invalid } from '../../platform/errors/app-error.js';
import { actorOf, IS_PUBLIC } from '../../platform/http/actor.js';
import { digestOf } from '../../platform/ids/canonical-json.js';
import type { Actor } from '../../platform/ids/ids.js';
import { findJsonProblem } from '../../platform/ids/plain-json.js';
import { withCommitMark } from '../../platform/mysql/commit-mark.js';
import { Logger } from '../../platform/observe/logger.js';
import { IdempotencyRedis, type Claim } from './idempotency.redis.js';
import { IdempotencyStore, type CarriedOut } from './idempotency.store.js';

const KEY = /^[A-Za-z0-9_.:-]{1,64}$/;
const KEEP_SECONDS = 24 * 3600;
const READING = ['GET', 'HEAD'];
/** Tells that an answer is the one that was given before. */
const REPEATED = 'Idempotency-Repeated';

const CARRIED_OUT =
  'This call was carried out, at least in part, but its answer was lost. Look what is there; use a new key for a new call.';

interface Keyed {
  readonly actor: Actor;
  readonly key: string;
  readonly digest: Buffer;
  /** Only this request knows it. */
  readonly owner: string;
}

/**
 * Writes with an `Idempotency-Key` happen once: the same call again gets the first answer. Redis knows who is at work and
 * what was answered; MySQL decides, by a row that is committed together with what a POST does (docs/adr/0014).
 */
@Injectable()
export class IdempotencyInterceptor implements NestInterceptor {
  constructor(
    private readonly reflector: Reflector,
    private readonly redis: IdempotencyRedis,
    private readonly store: IdempotencyStore,
    private readonly log: Logger,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    if (context.getType() !== 'http') return next.handle();
    const request = context.switchToHttp().getRequest<Request>();
    const key = request.headers['idempotency-key'];
    const places = [context.getHandler(), context.getClass()];
    if (key === undefined || READING.includes(request.method)) return next.handle();
    if (this.reflector.getAllAndOverride<boolean>(IS_PUBLIC, places)) return next.handle();
    if (typeof key !== 'string' || !KEY.test(key)) {
      throw invalid('Idempotency-Key', 'must be 1 to 64 characters of A-Z a-z 0-9 _ . : -');
    }
    const body = (request.body as unknown) ?? {};
    // What the validation refuses anyway is not worth a key, nor can it be trusted to be digested.
    if (findJsonProblem(body)) return next.handle();
    const digest = digestOf([request.method, request.originalUrl, body]);
    const keyed = { actor: actorOf(request), key, digest, owner: randomUUID() };
    const response = context.switchToHttp().getResponse<Response>();
    return from(this.once(keyed, request.method, () => lastValueFrom(next.handle()), response));
  }

  private async once(keyed: Keyed, method: string, run: () => Promise<unknown>, response: Response): Promise<unknown> {
    const { actor, key, digest } = keyed;
    const repeat = (answer: string): unknown => {
      response.setHeader(REPEATED, 'true');
      return JSON.parse(answer) ?? undefined;
    };
    // 1. Who is at work, what was answered?
    const claim = await this.claim(keyed);
    if (claim.outcome === 'conflict') throw new AppError('IDEMPOTENCY_CONFLICT');
    if (claim.outcome === 'done') return repeat(claim.answer);
    if (claim.outcome === 'pending') return repeat(await this.answerOfPending(keyed));
    try {
      // 2. What did an earlier one commit, whatever Redis remembers?
      const before = await this.store.find(actor, key, KEEP_SECONDS);
      if (before) {
        const answer = answerOf(before, digest, claim.outcome === 'unguarded');
        await this.keep(keyed, answer);
        return repeat(answer);
      }
      // 3. The call. PUT, PATCH and DELETE may be repeated by their nature; a POST is marked where it commits.
      const mark = {
        tenant: actor.tenant,
        write: (tx: Parameters<IdempotencyStore['mark']>[0]) => this.store.mark(tx, actor, key, digest),
      };
      const result = method === 'POST' ? await withCommitMark(mark, run) : await run();
      // 4. The answer, for those who did not hear it.
      const answer = JSON.stringify(result ?? null);
      await this.store
        .answer(actor, key, digest, answer, KEEP_SECONDS)
        .catch((error: Error) => this.forgot(keyed, error));
      await this.keep(keyed, answer);
      return result;
    } catch (error) {
      // Not done, or not known: the same call may come again, and MySQL then tells.
      await this.redis.release(actor, key, keyed.owner).catch(() => undefined);
      throw error;
    }
  }

  /** Without Redis the row in MySQL alone keeps two from doing the same. */
  private async claim({ actor, key, digest, owner }: Keyed): Promise<Claim | { outcome: 'unguarded' }> {
    try {
      return await this.redis.claim(actor, key, digest, owner);
    } catch (error) {
      this.log.warn({ tenant: actor.tenant, error: (error as Error).message }, 'an idempotency key goes without Redis');
      return { outcome: 'unguarded' };
    }
  }

  /**
   * Redis takes it for running. It may have been answered all the same: what a frozen Redis was asked counts when it wakes,
   * and by then nobody is at work.
   */
  private async answerOfPending({ actor, key, digest }: Keyed): Promise<string> {
    const before = await this.store.find(actor, key, KEEP_SECONDS);
    if (!before || before.answer === null) throw new AppError('IN_PROGRESS', { retryAfterMs: 1000 });
    return answerOf(before, digest, false);
  }

  private keep(keyed: Keyed, answer: string): Promise<void> {
    const { actor, key, owner } = keyed;
    return this.redis
      .finish(actor, key, owner, answer, KEEP_SECONDS)
      .catch((error: Error) => this.forgot(keyed, error));
  }

  private forgot({ actor: { tenant, uid } }: Keyed, error: Error): void {
    this.log.warn({ tenant, uid, error: error.message }, 'an answer was given and not kept for its repetition');
  }
}

/**
 * @param mayRun is nothing known of who is at work?
 * @throws AppError IDEMPOTENCY_CONFLICT, IN_PROGRESS, CONFLICT
 */
function answerOf(before: CarriedOut, digest: Buffer, mayRun: boolean): string {
  if (!before.digest.equals(digest)) throw new AppError('IDEMPOTENCY_CONFLICT');
  if (before.answer === null && mayRun && before.lately) throw new AppError('IN_PROGRESS', { retryAfterMs: 1000 });
  if (before.answer === null) throw new AppError('CONFLICT', { message: CARRIED_OUT });
  return before.answer;
}
