'use strict';
require('./lib/node-version').requireSupportedNode();
const path = require('node:path');
const { runChecks, staticChecks, unitCheck } = require('./lib/checks');
const { Stopped, explain } = require('./lib/errors');
const { complain } = require('./lib/log');
const { ensureDependencies } = require('./lib/setup');
const { StopControl } = require('./lib/stop-control');

/** `npm run check`: all that needs no server, side by side. */
async function main() {
  const root = path.join(__dirname, '..');
  const { signal } = StopControl.listen();
  await ensureDependencies(root, { signal });
  const { passed, failed } = await runChecks(root, [...staticChecks(root), unitCheck(root)], { signal });
  process.stdout.write(`${passed} of ${passed + failed} checks passed\n`);
  return failed === 0 ? 0 : 1;
}

main().then(
  (code) => process.exit(code),
  (error) => {
    if (!(error instanceof Stopped)) complain(explain(error));
    process.exit(1);
  },
);
