import { HttpException } from '@nestjs/common';
import { isDeadlock, isLockWait, isUnavailable } from '../mysql/mysql-errors.js';
import { RedisUnavailable } from '../redis/redis-scripts.js';
import { AppError } from './app-error.js';
import type { ErrorCode } from './error-table.js';

const BY_HTTP_STATUS: Record<number, ErrorCode> = {
  400: 'VALIDATION_FAILED',
  401: 'UNAUTHENTICATED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  405: 'NOT_FOUND',
  409: 'CONFLICT',
  413: 'PAYLOAD_TOO_LARGE',
  415: 'VALIDATION_FAILED',
  429: 'RATE_LIMITED',
};

/** Errors of the body parser carry their status; their texts quote the client's own input and are not repeated. */
function fromStatus(status: unknown, cause: unknown): AppError | null {
  const code = typeof status === 'number' ? BY_HTTP_STATUS[status] : undefined;
  return code ? new AppError(code, { cause }) : null;
}

/** What the edge makes of anything thrown: what is not foreseen is INTERNAL, and its text stays in the log. */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  if (error instanceof RedisUnavailable) return new AppError('SHORT_STATE_UNAVAILABLE', { cause: error });
  if (isUnavailable(error) || isDeadlock(error) || isLockWait(error)) {
    return new AppError('STORAGE_UNAVAILABLE', { cause: error });
  }
  const known =
    error instanceof HttpException
      ? fromStatus(error.getStatus(), error)
      : fromStatus((error as { status?: unknown } | null)?.status, error);
  return known ?? new AppError('INTERNAL', { cause: error });
}
