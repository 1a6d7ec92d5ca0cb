'use strict';
require('./lib/node-version').requireSupportedNode();
const path = require('node:path');
const { UserError, explain } = require('./lib/errors');
const { complain } = require('./lib/log');
const { getMysql97, unpackedMysql } = require('./lib/mysql97');
const { startMysql } = require('./lib/mysql-server');
const { ProcessRecords } = require('./lib/processes');

const usage = `node scripts/mysql97.js get|start|stop DIR [PORT]
  get    fetch MySQL 9.7 into DIR (exit code 3: it cannot be had here)
  start  run it from DIR on PORT (default: a free one) until Ctrl-C, or "stop"; its URL is printed
  stop   end the one that was started from DIR`;

async function get(dir) {
  const { program, why } = await getMysql97(dir);
  if (!program) {
    complain(`MySQL 9.7 cannot be had: ${why}`);
    return 3;
  }
  process.stdout.write(`${program.title} is in ${dir}\n`);
  return 0;
}

async function start(dir, port) {
  const program = unpackedMysql(dir);
  if (!program) throw new UserError(`There is no MySQL in ${dir}: run "get" first.`);
  const server = await startMysql({ dir: path.join(dir, 'server'), port, program, records: recordsOf(dir) });
  process.stdout.write(`${server.title} answers: ${server.url}\n`);
  for (const name of ['SIGINT', 'SIGTERM']) process.on(name, () => void server.stop());
  await server.exited;
  return 0;
}

async function stop(dir) {
  await recordsOf(dir).endLeftovers(30_000);
  return 0;
}

const recordsOf = (dir) => new ProcessRecords(path.join(dir, 'processes'), dir);

async function main([verb, folder, port]) {
  const commands = { get, start, stop };
  const isPort = port === undefined || /^\d+$/.test(port);
  if (!Object.hasOwn(commands, verb ?? '') || !folder || !isPort) {
    complain(usage);
    return 2;
  }
  return commands[verb](path.resolve(folder), port && Number(port));
}

main(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error) => {
    complain(explain(error));
    process.exit(1);
  },
);
