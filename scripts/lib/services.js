'use strict';
const path = require('node:path');
const { Stopped } = require('./errors');
const { rotateLog } = require('./files');
const { cannotHave, findOrInstall } = require('./install');
const docker = require('./docker-servers');
const { say } = require('./log');
const { startMysql } = require('./mysql-server');
const { startRedis } = require('./redis-server');
const { Supervised } = require('./supervisor');

const titles = { mysql: 'MySQL', redis: 'Redis' };

/**
 * How to start one private server on this machine: by a program found or installed, else by Docker Compose.
 * @param {'mysql' | 'redis'} name
 * @returns {Promise<(options: object) => Promise<object>>} starts the server in the `dir` it is given
 * @throws {UserError} when this machine can do neither
 */
async function chooseStarter(name, options) {
  const { program, why } = await findOrInstall(name, options);
  if (options.signal?.aborted) throw new Stopped();
  if (program) return (given) => (name === 'mysql' ? startMysql : startRedis)({ ...given, program });
  if (await docker.isUsable(options)) return (given) => docker.startServer(name, given);
  throw cannotHave(name, why);
}

/**
 * A private server under supervision: started again on the same port with the same data when it ends.
 * @param {'mysql' | 'redis'} name
 * @param {object} options
 * @param {string} options.root the project folder
 * @param {string} options.dataFolder the server lives in `<dataFolder>/<name>`, its log in `<dataFolder>/logs`
 * @param {import('./processes').ProcessRecords} options.records
 * @param {AbortSignal} options.signal
 * @param {() => void} options.onChange called when it came up, each time; then `running` tells port and pid
 * @returns {Promise<Supervised>} not started yet
 */
async function superviseServer(name, { root, dataFolder, records, signal, onChange }) {
  const starter = await chooseStarter(name, { signal, records });
  const logFile = path.join(dataFolder, 'logs', `${name}.log`);
  const dir = path.join(dataFolder, name);
  let port;
  const launch = async (options) => {
    rotateLog(logFile);
    const server = await starter({ root, dir, port, logFile, records, signal: options.signal, appendonly: true });
    if (!options.isRestart) say(`${server.title} runs on 127.0.0.1:${server.port}`);
    port = server.port;
    return server;
  };
  return new Supervised({ name: titles[name], launch, onUp: onChange });
}

module.exports = { chooseStarter, superviseServer };
