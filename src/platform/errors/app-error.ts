import { ERROR_TABLE, type ErrorCode } from './error-table.js';

export interface ErrorDetail {
  /** Path of the offending field, such as `content.text`. */
  readonly field: string;
  readonly problem: string;
}

export interface AppErrorOptions {
  /** Replaces the table's text; says what to do next. Never holds content, secrets or SQL. */
  readonly message?: string;
  readonly retryAfterMs?: number;
  readonly details?: readonly ErrorDetail[];
  readonly cause?: unknown;
}

/** What the wire says of a failure; the same shape in acks, `connect_error.data` and items of an answer. */
export interface ErrorBody {
  readonly code: ErrorCode;
  readonly message: string;
  readonly retryable: boolean;
  readonly retryAfterMs?: number;
  readonly details?: readonly ErrorDetail[];
}

/** The one error that modules throw; the two filters at the edge turn it into an ack or a problem document. */
export class AppError extends Error {
  readonly retryAfterMs?: number;
  readonly details?: readonly ErrorDetail[];

  constructor(
    readonly code: ErrorCode,
    options: AppErrorOptions = {},
  ) {
    super(options.message ?? ERROR_TABLE[code].text, { cause: options.cause });
    this.name = 'AppError';
    this.retryAfterMs = options.retryAfterMs;
    this.details = options.details;
  }

  get status(): number {
    return ERROR_TABLE[this.code].status;
  }

  get retryable(): boolean {
    return ERROR_TABLE[this.code].retryable;
  }

  toBody(): ErrorBody {
    return {
      code: this.code,
      message: this.message,
      retryable: this.retryable,
      ...(this.retryAfterMs === undefined ? {} : { retryAfterMs: this.retryAfterMs }),
      ...(this.details === undefined ? {} : { details: this.details }),
    };
  }
}

/** One field is wrong. */
export function invalid(field: string, problem: string): AppError {
  return new AppError('VALIDATION_FAILED', { message: `${field} ${problem}`, details: [{ field, problem }] });
}
