import { AppError, invalid } from '../../../src/platform/errors/app-error.js';
import { ERROR_TABLE, type ErrorCode } from '../../../src/platform/errors/error-table.js';
import { toAppError } from '../../../src/platform/errors/to-app-error.js';
import { RedisUnavailable } from '../../../src/platform/redis/redis-scripts.js';

describe('the error table', () => {
  it('gives every code a status of HTTP and a text that says something', () => {
    for (const [code, { status, text }] of Object.entries(ERROR_TABLE)) {
      expect(code).toMatch(/^[A-Z]+(_[A-Z]+)*$/);
      expect(status).toBeGreaterThanOrEqual(400);
      expect(status).toBeLessThan(600);
      expect(text).toMatch(/^[A-Z].*\.$/);
    }
  });

  it('calls retryable exactly what may succeed unchanged', () => {
    const retryable = Object.entries(ERROR_TABLE).flatMap(([code, row]) => (row.retryable ? [code] : []));
    expect(retryable.sort()).toEqual([
      'IN_PROGRESS',
      'OVERLOADED',
      'RATE_LIMITED',
      'SEQ_UNAVAILABLE',
      'SHORT_STATE_UNAVAILABLE',
      'STORAGE_UNAVAILABLE',
    ]);
  });
});

describe('an error on the wire', () => {
  it('says code, text and whether to retry; details only when there are some', () => {
    expect(new AppError('MUTED').toBody()).toEqual({
      code: 'MUTED',
      message: ERROR_TABLE.MUTED.text,
      retryable: false,
    });
    expect(new AppError('OVERLOADED', { message: 'x', retryAfterMs: 5, cause: new Error('secret') }).toBody()).toEqual({
      code: 'OVERLOADED',
      message: 'x',
      retryable: true,
      retryAfterMs: 5,
    });
    expect(invalid('a.b', 'is wrong').toBody()).toMatchObject({
      code: 'VALIDATION_FAILED',
      details: [{ field: 'a.b', problem: 'is wrong' }],
    });
  });

  it.each<[string, unknown, ErrorCode]>([
    ['Redis away', new RedisUnavailable(), 'SHORT_STATE_UNAVAILABLE'],
    ['a body parser that refused', { status: 413 }, 'PAYLOAD_TOO_LARGE'],
    ['another status', { status: 418 }, 'INTERNAL'],
    ['text', 'SELECT secret', 'INTERNAL'],
    ['nothing', undefined, 'INTERNAL'],
  ])('from %s', (_what, thrown, code) => {
    const error = toAppError(thrown);
    expect(error.code).toBe(code);
    expect(JSON.stringify(error.toBody())).not.toContain('secret');
  });
});
