'use strict';
require('../scripts/lib/node-version').requireSupportedNode();
const fs = require('node:fs');
const path = require('node:path');
const { Stopped, UserError, explain } = require('../scripts/lib/errors');
const { complain } = require('../scripts/lib/log');
const { StopControl } = require('../scripts/lib/stop-control');
const { BenchRun } = require('./lib/bench-run');

/** What can be measured: each module has `usage`, `options` (for util.parseArgs) and `run(bench, values)`. */
const benches = {
  send: () => require('./send/bench'),
  fanout: () => require('./fanout/bench'),
  history: () => require('./history/bench'),
  presence: () => require('./presence/bench'),
  caches: () => require('./caches/bench'),
  members: () => require('./members/bench'),
};

function usage() {
  const parts = Object.values(benches).map((load) => load().usage);
  return `npm run bench -- <name> [options]\n${parts.join('\n')}`;
}

/** `npm run bench -- <name> [options]`: private servers, tables on standard output, JSON in `.data/bench`. */
async function main([name, ...words]) {
  if (!Object.hasOwn(benches, name ?? '')) {
    complain(usage());
    return 2;
  }
  const { options, run } = benches[name]();
  const values = readOptions(options, words);
  const bench = new BenchRun(fs.realpathSync(path.join(__dirname, '..')), StopControl.listen(), name);
  try {
    await bench.prepare();
    await run(bench, values);
    return 0;
  } finally {
    await bench.end();
  }
}

function readOptions(options, words) {
  try {
    return require('node:util').parseArgs({ args: words, options, strict: true }).values;
  } catch (error) {
    throw new UserError(`${error.message}\n${usage()}`);
  }
}

main(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error) => {
    complain(error instanceof Stopped ? 'Stopped before the end.' : explain(error));
    if (process.env.TRIDENT_DEBUG) complain(error.stack);
    process.exit(1);
  },
);
