import type { ErrorCode, JsonValue, WireError } from './wire.js';

/** Codes that this client makes itself, beside the server's. */
export type ClientErrorCode = 'TIMEOUT' | 'DISCONNECTED' | 'NETWORK' | 'QUEUE_FULL' | 'CANCELLED' | 'CLOSED';

/** A refused or failed call. `retryable` says whether the same call may succeed later, unchanged. */
export class TridentError extends Error {
  constructor(
    readonly code: ErrorCode | ClientErrorCode,
    message: string,
    readonly retryable: boolean,
    /** earliest moment to try again, in milliseconds from now */
    readonly retryAfterMs?: number,
    readonly details?: JsonValue,
  ) {
    super(message);
    this.name = 'TridentError';
  }

  static fromWire(error: Partial<WireError> | undefined): TridentError {
    return new TridentError(
      error?.code ?? 'INTERNAL',
      error?.message ?? 'the server answered without a reason',
      error?.retryable === true,
      typeof error?.retryAfterMs === 'number' ? error.retryAfterMs : undefined,
      error?.details,
    );
  }

  static from(thrown: unknown): TridentError {
    if (thrown instanceof TridentError) return thrown;
    return new TridentError('NETWORK', thrown instanceof Error ? thrown.message : String(thrown), true);
  }
}

/** The access token is no longer good: a new one may help. */
export const isTokenError = (error: TridentError): boolean =>
  error.code === 'UNAUTHENTICATED' || error.code === 'TOKEN_EXPIRED';
