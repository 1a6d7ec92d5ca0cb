import 'reflect-metadata';
import { createApplication, type Application } from './application.js';
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
  let application: Application | undefined;
  let asked = false;
  let stopping: Promise<void> | undefined;
  // A second signal, or one during start, finds the same orderly end under way.
  const stop = (): void => {
    asked = true;
    if (application) stopping ??= application.stop().then(() => process.exit(0));
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  application = await createApplication(env);
  if (asked) stop();
  else await application.start();
}

void main().catch((error: unknown) => {
  process.stderr.write(`The node could not start: ${(error as Error).stack ?? String(error)}\n`);
  process.exit(1);
});
