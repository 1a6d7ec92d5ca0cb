'use strict';
const fs = require('node:fs');
const { UserError } = require('./errors');
const { say, withProgress } = require('./log');
const { findMysql, findProgram, findRedis } = require('./programs');
const { run } = require('./run');

/**
 * What can be installed, by whom. MariaDB's server comes from the core packages, which bring the program without a
 * system service; Redis' package brings a service, which is stopped and disabled again.
 */
const kinds = {
  mysql: {
    title: 'MySQL or MariaDB',
    url: 'MYSQL_URL',
    needs: 'MariaDB 10.11 or later, or MySQL 8.0 or later',
    find: findMysql,
    apt: [['mariadb-server-core', 'mariadb-client-core'], ['mariadb-server']],
    services: ['mariadb', 'mysql'],
    brew: 'mariadb',
  },
  redis: {
    title: 'Redis',
    url: 'REDIS_URL',
    needs: 'Redis 7.0 or later, or Valkey',
    find: findRedis,
    apt: [['redis-server'], ['valkey-server']],
    services: ['redis-server', 'valkey-server'],
    brew: 'redis',
  },
};

let aptListsAreFresh = false;

/** How to run a command with the rights of root without asking for a password, or undefined. */
async function rootPrefix(options) {
  if (process.getuid?.() === 0) return [];
  const sudo = findProgram('sudo');
  if (!sudo) return undefined;
  return (await run(sudo, ['-n', 'true'], options)).code === 0 ? [sudo, '-n'] : undefined;
}

function isServiceRunning(name) {
  if (fs.existsSync('/run/systemd/system')) return run('systemctl', ['is-active', '--quiet', name]);
  return run('service', [name, 'status']);
}

/** Ends and disables a system service that an installation of ours started. */
async function stopService(prefix, name, options) {
  if ((await isServiceRunning(name)).code !== 0) return;
  const words = fs.existsSync('/run/systemd/system')
    ? ['systemctl', 'disable', '--now', name]
    : ['service', name, 'stop'];
  const [command, ...args] = [...prefix, ...words];
  await run(command, args, options);
  say(`  stopped the system service ${name} that the package started; Trident IM runs a private server`);
}

/** Runs apt-get without questions; sudo needs the variable on its own command line. */
function aptGet(prefix, args, options) {
  const [command, ...rest] = [...prefix, 'env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', '-q', '-y', ...args];
  return run(command, rest, options);
}

async function installByApt(kind, options) {
  if (!findProgram('apt-get')) return undefined;
  const prefix = await rootPrefix(options);
  if (!prefix) return 'apt-get needs root: run once with sudo, or allow sudo without a password';
  say(`Installing ${kind.title} with apt-get ...`);
  if (!aptListsAreFresh) await withProgress('reading package lists', aptGet(prefix, ['update'], options));
  aptListsAreFresh = true;
  let why = '';
  for (const packages of kind.apt) {
    const args = ['install', '--no-install-recommends', ...packages];
    const { code, output } = await withProgress(`installing ${packages.join(', ')}`, aptGet(prefix, args, options));
    for (const name of code === 0 ? kind.services : []) await stopService(prefix, name, options);
    if (code === 0 && kind.find()) return undefined;
    why = output.split('\n').filter((line) => /^(E:|dpkg: error)/.test(line))[0] ?? `exit code ${code}`;
  }
  return `apt-get could not install it: ${why}`;
}

async function installByBrew(kind, options) {
  const brew = findProgram('brew');
  if (!brew) return undefined;
  say(`Installing ${kind.title} with Homebrew ...`);
  const { code, output } = await withProgress(`installing ${kind.brew}`, run(brew, ['install', kind.brew], options));
  return code === 0 ? undefined : `brew could not install it: ${output.trim().split('\n').pop()}`;
}

/**
 * Finds a server program, installing it when this machine has none.
 * @param {'mysql' | 'redis'} name
 * @param {{ signal?: AbortSignal, records?: import('./processes').ProcessRecords }} [options]
 * @returns {Promise<{ program?: import('./programs').Program, why: string }>} without a program, `why` says why not
 */
async function findOrInstall(name, options = {}) {
  const kind = kinds[name];
  let program = kind.find();
  const reasons = program?.tooOld ? [program.tooOld] : [];
  for (const install of program ? [] : [installByApt, installByBrew]) {
    const reason = await install(kind, options);
    if (reason) reasons.push(reason);
    program = kind.find();
    if (program) break;
  }
  if (program && !program.tooOld) return { program, why: '' };
  if (program?.tooOld && !reasons.includes(program.tooOld)) reasons.push(program.tooOld);
  return { why: reasons.join('; ') };
}

/** The one line for a machine on which a server can be neither found nor installed. */
function cannotHave(name, why) {
  const { title, needs, url } = kinds[name];
  return new UserError(
    `${title} is missing${why ? ` (${why})` : ''}. Install ${needs}, or start Docker, or set ${url} to a server you have; then run the command again.`,
  );
}

module.exports = { findOrInstall, cannotHave };
