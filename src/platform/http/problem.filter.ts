import { Catch, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { Request, Response } from 'express';
import { ERROR_TABLE } from '../errors/error-table.js';
import { toAppError } from '../errors/to-app-error.js';
import { Logger } from '../observe/logger.js';
import { requestIdOf } from './request-id.js';

/** Every failed REST call, as an RFC 9457 problem document. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(private readonly log: Logger) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const response = http.getResponse<Response>();
    const request = http.getRequest<Request>();
    const error = toAppError(thrown);
    const requestId = requestIdOf(request);
    if (error.status >= 500) {
      this.log.error({ requestId, code: error.code, err: errorText(thrown) }, 'a REST call failed');
    }
    if (response.headersSent) return;
    if (error.retryAfterMs !== undefined) {
      response.setHeader('Retry-After', String(Math.max(1, Math.ceil(error.retryAfterMs / 1000))));
    }
    const { message, ...body } = error.toBody();
    response
      .status(error.status)
      .type('application/problem+json')
      .send(
        JSON.stringify({
          type: `https://trident-im.dev/errors/${error.code}`,
          title: ERROR_TABLE[error.code].text,
          status: error.status,
          detail: message,
          ...body,
          requestId,
        }),
      );
  }
}

/** The chain of causes, for the log only. */
export function errorText(error: unknown): string {
  const parts: string[] = [];
  for (let current = error; current instanceof Error && parts.length < 5; current = current.cause) {
    parts.push(current.stack ?? current.message);
  }
  return parts.join('\ncaused by ');
}
