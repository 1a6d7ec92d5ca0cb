import { AppError } from '../platform/errors/app-error.js';

/** A mistake of the person at the keyboard; its text says what to do. */
export class UsageError extends Error {}

/** Runs a command line: what goes wrong is one line on standard error and exit code 1, never a stack trace. */
export function runCli(main: () => Promise<void>): void {
  main().catch((error: unknown) => {
    process.stderr.write(`${explain(error)}\n`);
    process.exitCode = 1;
  });
}

/** One line that says what is wrong. */
export function explain(error: unknown): string {
  if (error instanceof AppError && error.details !== undefined) {
    return error.details.map(({ field, problem }) => `${field} ${problem}`).join('; ');
  }
  if (error instanceof UsageError || error instanceof AppError) return error.message;
  const { code, message, address, port } = (error ?? {}) as { [field: string]: string | number | undefined };
  if (code === 'ECONNREFUSED') return `MySQL does not answer at ${address ?? 'its address'}:${port ?? ''}.`;
  if (code === 'ER_ACCESS_DENIED_ERROR') return 'MySQL refuses the user or the password of MYSQL_URL.';
  return String(message || code || error);
}
