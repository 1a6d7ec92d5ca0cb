import { plainToInstance } from 'class-transformer';
import { validate, type ValidationError } from 'class-validator';
import { AppError, type ErrorDetail } from '../errors/app-error.js';
import { findJsonProblem } from '../ids/plain-json.js';

type DtoClass<T extends object> = new () => T;

/**
 * Checks a decoded request against its DTO, for REST and sockets alike.
 * @throws AppError VALIDATION_FAILED (or PAYLOAD_TOO_LARGE where a rule says so) with one detail per wrong field
 */
export async function validateDto<T extends object>(dto: DtoClass<T>, value: unknown): Promise<T> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new AppError('VALIDATION_FAILED', {
      message: 'The payload must be one JSON object.',
      details: [{ field: '', problem: 'must be a JSON object' }],
    });
  }
  const problem = findJsonProblem(value);
  if (problem) throw new AppError('VALIDATION_FAILED', { details: [problem] });
  const instance = plainToInstance(dto, value, { enableImplicitConversion: false });
  const errors = await validate(instance, {
    whitelist: true,
    forbidNonWhitelisted: true,
    // A DTO without fields is a class without rules; whitelisting refuses what does not belong to it.
    forbidUnknownValues: false,
    stopAtFirstError: true,
    validationError: { target: false, value: false },
  });
  if (errors.length > 0) throw toError(errors);
  const lost = findLostField(value, instance);
  if (lost !== null) {
    const details = [{ field: lost, problem: `property ${lost} should not exist` }];
    throw new AppError('VALIDATION_FAILED', { details });
  }
  return instance;
}

/**
 * Fields named like methods of every object (`toString`) are left out when an instance is made, before any rule could
 * refuse them as unknown.
 */
function findLostField(given: unknown, made: unknown, path = ''): string | null {
  const areObjects = [given, made].every((value) => typeof value === 'object' && value !== null);
  if (given === made || !areObjects) return null;
  for (const [key, value] of Object.entries(given as object)) {
    const here = path === '' ? key : `${path}.${key}`;
    if (!Object.hasOwn(made as object, key)) return here;
    const lost = findLostField(value, (made as Record<string, unknown>)[key], here);
    if (lost !== null) return lost;
  }
  return null;
}

/** A rule that bounds a size says so in its validation context: `{ context: { code: 'PAYLOAD_TOO_LARGE' } }`. */
function toError(errors: ValidationError[]): AppError {
  const tooLarge = errors.some((error) =>
    Object.values(error.contexts ?? {}).some(
      (context) => (context as { code?: unknown })?.code === 'PAYLOAD_TOO_LARGE',
    ),
  );
  return new AppError(tooLarge ? 'PAYLOAD_TOO_LARGE' : 'VALIDATION_FAILED', { details: flatten(errors) });
}

function flatten(errors: ValidationError[], parent = ''): ErrorDetail[] {
  return errors.flatMap((error) => {
    const field = parent === '' ? error.property : `${parent}.${error.property}`;
    const own = Object.values(error.constraints ?? {}).map((problem) => ({ field, problem }));
    return [...own, ...flatten(error.children ?? [], field)];
  });
}
