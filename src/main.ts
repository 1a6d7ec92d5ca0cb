import 'reflect-metadata';
import { createApplication } from './application.js';
import { loadEnv, type Env } from './platform/env/env.js';

/** One node. Its settings come from the environment; it knows nothing of what started it. */
async function main(): Promise<void> {
  let env: Env;
  try {
    env = loadEnv();
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exit(1);
  }
  const application = await createApplication(env);
  let stopping: Promise<void> | undefined;
  // A second signal, or one during start, finds the same orderly end under way.
  const stop = (): void => void (stopping ??= application.stop().then(() => process.exit(0)));
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  await application.start();
}

void main().catch((error: unknown) => {
  process.stderr.write(`The node could not start: ${(error as Error).stack ?? String(error)}\n`);
  process.exit(1);
});
