'use strict';
require('./lib/node-version').requireSupportedNode();
const fs = require('node:fs');
const path = require('node:path');
const { Stopped, explain } = require('./lib/errors');
const { complain } = require('./lib/log');
const { StopControl } = require('./lib/stop-control');
const { TestRun } = require('./lib/test-run');

/** `npm test [-- project ... jest options]`: the last line is `N passed, M failed` over everything that ran. */
async function main() {
  const test = new TestRun(fs.realpathSync(path.join(__dirname, '..')), StopControl.listen());
  try {
    await test.run(process.argv.slice(2));
  } catch (error) {
    // Whatever kept tests from running is a failure of this run, and is counted as one.
    test.failed += 1;
    complain(error instanceof Stopped ? 'Stopped before the end.' : explain(error));
    if (process.env.TRIDENT_DEBUG) complain(error.stack);
  }
  await test.end();
  process.stdout.write(`${test.passed} passed, ${test.failed} failed\n`, () => {
    process.exit(test.failed === 0 && test.passed > 0 ? 0 : 1);
  });
}

main();
