'use strict';
const fs = require('node:fs');
const path = require('node:path');
const { Child } = require('./child');
const { UserError } = require('./errors');
const { readJson, writeAtomic, writeJson } = require('./files');
const { findRedis } = require('./programs');
const { choosePort } = require('./ports');
const { answersPing } = require('./resp');

/**
 * A running private Redis or Valkey server, without a password, on 127.0.0.1 only.
 * @typedef {object} RedisServer
 * @property {string} host always 127.0.0.1
 * @property {number} port
 * @property {number} pid the server's own process
 * @property {string} url `redis://host:port/0`
 * @property {string} title name and version, for people
 * @property {Promise<string>} exited resolves with the cause, in words, when the process ends
 * @property {(hurry?: AbortSignal) => Promise<void>} stop clean shutdown; resolves when the process is gone
 * @property {(signal?: NodeJS.Signals) => void} kill sends a signal (SIGKILL) and does not wait
 */

/**
 * Starts a private Redis server that keeps all it has in `dir`.
 * @param {object} options
 * @param {string} options.dir made when missing
 * @param {number} [options.port] instead of the one kept or chosen
 * @param {boolean} [options.appendonly] keep the data over restarts, a killed server's too (default false: memory only)
 * @param {string[]} [options.extraConfig] further lines of redis.conf, the last word over ours
 * @param {import('./programs').Program} [options.program] instead of the one found on this machine
 * @param {string} [options.logFile] default `dir/server.log`
 * @param {string} [options.name] for records and messages
 * @param {(port: number) => Promise<boolean>} [options.portSuits] a further condition on a port that is chosen
 * @param {AbortSignal} [options.signal] gives up and ends the server
 * @param {import('./processes').ProcessRecords} [options.records]
 * @returns {Promise<RedisServer>} once it answers and its data is loaded
 * @throws {UserError} when there is no program or the server does not come up
 */
async function startRedis(options) {
  const { dir, appendonly = false, extraConfig = [], program = findRedis(), name = 'redis', signal, records } = options;
  if (!program) throw new UserError('There is no Redis server on this machine: install redis-server.');
  const home = path.resolve(dir);
  fs.mkdirSync(home, { recursive: true, mode: 0o700 });
  const kept = readJson(path.join(home, 'port.json'))?.port;
  const port = options.port ?? (await choosePort(kept, options.portSuits));
  writeJson(path.join(home, 'port.json'), { port });
  const configFile = path.join(home, 'redis.conf');
  const lines = configLines({ home, port, appendonly, flavour: program.flavour });
  writeAtomic(configFile, `${[...lines, ...extraConfig].join('\n')}\n`);
  const logFile = options.logFile ?? path.join(home, 'server.log');
  const child = new Child({ name, command: program.command, args: [configFile], logFile, records });
  await child.waitUntil(async () => (await answersPing(port)) && !child.hasExited, { signal });
  return {
    host: '127.0.0.1',
    port,
    pid: child.pid,
    url: `redis://127.0.0.1:${port}/0`,
    title: program.title,
    exited: child.exited,
    stop: (hurry) => child.stop(20_000, hurry),
    kill: (signalName) => child.kill(signalName),
  };
}

function configLines({ home, port, appendonly }) {
  return [
    'bind 127.0.0.1',
    `port ${port}`,
    `dir "${home}"`,
    'daemonize no',
    // A full server must refuse writes aloud, not forget presence and counters in silence.
    'maxmemory-policy noeviction',
    `appendonly ${appendonly ? 'yes' : 'no'}`,
    'appendfsync everysec',
    'save ""',
    // The command line stays as we started it, so that a later start can tell that the process is ours.
    'set-proc-title no',
  ];
}

module.exports = { startRedis };
