import { invalid } from '../../platform/errors/app-error.js';

/** Secrets are texts by name. @throws AppError VALIDATION_FAILED, which never says a value */
export function secretsOf(given: Readonly<Record<string, unknown>> | undefined): Record<string, string> | undefined {
  if (given === undefined) return undefined;
  for (const [name, value] of Object.entries(given)) {
    if (typeof value !== 'string' || value === '') throw invalid(`secrets.${name}`, 'must be a text');
  }
  return given as Record<string, string>;
}
