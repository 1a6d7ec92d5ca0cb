'use strict';
const { createHash, randomBytes } = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { Child } = require('./child');
const { readJson, writeJson } = require('./files');
const { say, withProgress } = require('./log');
const { choosePort } = require('./ports');
const { findProgram } = require('./programs');
const { readMysqlGreeting } = require('./mysql-probe');
const { answersPing } = require('./resp');
const { run, runOrExplain } = require('./run');

/** True when Docker answers and has Compose. */
async function isUsable(options) {
  const docker = findProgram('docker');
  if (!docker) return false;
  for (const args of [['compose', 'version'], ['info']]) {
    if ((await run(docker, args, options)).code !== 0) return false;
  }
  return true;
}

function keepSettings(dir) {
  const file = path.join(dir, 'docker.json');
  const kept = readJson(file) ?? { password: randomBytes(18).toString('hex') };
  const save = (port) => writeJson(file, { ...kept, port });
  return { password: kept.password, port: kept.port, save };
}

/**
 * Starts a private server in a container (docker/servers.yaml) when this machine has no program for it.
 * @param {'mysql' | 'redis'} name
 * @param {object} options as startMysql and startRedis take them, and `root`, the project folder
 * @returns {Promise<import('./mysql-server').MysqlServer | import('./redis-server').RedisServer>}
 */
async function startServer(name, { root, dir, port, logFile, records, signal }) {
  fs.mkdirSync(dir, { recursive: true, mode: 0o700 });
  const settings = keepSettings(dir);
  const docker = findProgram('docker') ?? 'docker';
  const project = `trident-${createHash('sha256').update(dir).digest('hex').slice(0, 10)}`;
  const compose = ['compose', '-p', project, '-f', path.join(root, 'docker', 'servers.yaml')];
  await run(docker, [...compose, 'down'], { env: composeEnv(settings.password, 1), signal, records });
  const chosenPort = port ?? (await choosePort(settings.port));
  settings.save(chosenPort);
  const env = composeEnv(settings.password, chosenPort);
  say(`Starting ${name} with Docker Compose ...`);
  const up = runOrExplain('docker compose up', 'Docker says:', docker, [...compose, 'up', '-d', name], {
    env,
    signal,
    records,
  });
  await withProgress('fetching and starting the image', up);
  const id = (await run(docker, [...compose, 'ps', '-q', name], { env, signal })).output.trim();
  const pid = Number((await run(docker, ['inspect', '-f', '{{.State.Pid}}', id], { signal })).output.trim());
  // `docker wait` lives as long as the container: it stands for it.
  const child = new Child({ name, command: docker, args: ['wait', id], logFile, records });
  const isReady = async () =>
    name === 'redis' ? answersPing(chosenPort) : (await readMysqlGreeting(chosenPort)) !== undefined;
  const down = async () => {
    await run(docker, [...compose, 'down'], { env });
    await child.stop(5_000);
  };
  try {
    await child.waitUntil(isReady, { signal });
  } catch (error) {
    await down();
    throw error;
  }
  const account = name === 'mysql' ? { user: 'root', password: settings.password } : {};
  return {
    host: '127.0.0.1',
    port: chosenPort,
    ...account,
    pid,
    url:
      name === 'mysql'
        ? `mysql://root:${settings.password}@127.0.0.1:${chosenPort}/`
        : `redis://127.0.0.1:${chosenPort}/0`,
    title: `${name} in a container`,
    exited: child.exited,
    stop: down,
    kill: () => void run(docker, ['kill', id]),
  };
}

function composeEnv(password, port) {
  return { ...process.env, TRIDENT_SERVER_PASSWORD: password, TRIDENT_SERVER_PORT: String(port) };
}

module.exports = { isUsable, startServer };
