import { AppError } from '../errors/app-error.js';

/**
 * For security steps: whatever keeps Redis from answering properly (away, frozen, an error reply of any kind) refuses the
 * step. A step that cannot be checked is not passed.
 * @throws AppError SHORT_STATE_UNAVAILABLE; those of `call` itself stay
 */
export async function failClosed<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError('SHORT_STATE_UNAVAILABLE', { cause: error, retryAfterMs: 1000 });
  }
}
