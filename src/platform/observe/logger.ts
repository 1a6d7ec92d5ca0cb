import { Inject, Injectable, type LoggerService } from '@nestjs/common';
import { pino, type Logger as Pino } from 'pino';
import { ENV, type Env } from '../env/env.js';

type Fields = Record<string, unknown>;

/** JSON lines on standard output. Fields never hold content, phones, tokens or secrets; those of a tenant carry its id. */
@Injectable()
export class Logger {
  private readonly pino: Pino;

  constructor(@Inject(ENV) env: Pick<Env, 'LOG_LEVEL'>) {
    this.pino = pino({ level: env.LOG_LEVEL, base: { pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime });
  }

  debug(fields: Fields, message: string): void {
    this.pino.debug(fields, message);
  }
  info(fields: Fields, message: string): void {
    this.pino.info(fields, message);
  }
  warn(fields: Fields, message: string): void {
    this.pino.warn(fields, message);
  }
  error(fields: Fields, message: string): void {
    this.pino.error(fields, message);
  }
  fatal(fields: Fields, message: string): void {
    this.pino.fatal(fields, message);
  }
}

/** Nest's own start-up lines, through the same log. */
export function nestLogger(log: Logger): LoggerService {
  const line = (message: unknown): string => (typeof message === 'string' ? message : String(message));
  return {
    log: (message: unknown) => log.debug({}, line(message)),
    warn: (message: unknown) => log.warn({}, line(message)),
    error: (message: unknown, stack?: unknown) => log.error({ stack }, line(message)),
    debug: () => undefined,
    verbose: () => undefined,
    fatal: (message: unknown) => log.fatal({}, line(message)),
  };
}
