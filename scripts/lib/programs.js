'use strict';
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

// Debian keeps servers in /usr/sbin, which is not on every user's PATH; the others are where Homebrew and MySQL's own packages put them.
const extraFolders = [
  '/usr/sbin',
  '/usr/local/sbin',
  '/usr/libexec',
  '/opt/homebrew/bin',
  '/usr/local/bin',
  '/opt/homebrew/opt/mysql/bin',
  '/opt/homebrew/opt/mariadb/bin',
  '/usr/local/mysql/bin',
];

/** Full path of a program on the PATH or in the usual places, or undefined. */
function findProgram(name) {
  const folders = [...(process.env.PATH ?? '').split(path.delimiter), ...extraFolders].filter(Boolean);
  return folders.map((folder) => path.join(folder, name)).find(isExecutable);
}

function isExecutable(file) {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

/** Compares dotted versions by their numbers. */
function isAtLeast(version, least) {
  const parts = version.split('.').map(Number);
  for (const [index, part] of least.split('.').map(Number).entries()) {
    if ((parts[index] ?? 0) !== part) return (parts[index] ?? 0) > part;
  }
  return true;
}

function versionText(command, prefixArgs = []) {
  const { stdout } = spawnSync(command, [...prefixArgs, '--version'], { encoding: 'utf8', timeout: 20_000 });
  return stdout ?? '';
}

/**
 * A server program and how to run it.
 * @typedef {object} Program
 * @property {string} command
 * @property {string[]} prefixArgs words before the server's own options
 * @property {string[]} [serverArgs] options every run needs because the program is not where it was built for
 * @property {'mariadb' | 'mysql' | 'redis' | 'valkey'} flavour
 * @property {string} version
 * @property {string} title for people
 * @property {string} [installDb] MariaDB's program that makes a new data folder
 * @property {string} [tooOld] set when the version is below what the product supports: says what is needed
 */

/**
 * Looks at one MySQL or MariaDB server program.
 * @returns {Program | undefined} undefined when it does not tell a version
 */
function describeMysql(command, prefixArgs = []) {
  const text = versionText(command, prefixArgs);
  const version = /Ver\s+(\d+\.\d+\.\d+)/.exec(text)?.[1];
  if (!version) return undefined;
  const isMaria = /MariaDB/i.test(text);
  const title = `${isMaria ? 'MariaDB' : 'MySQL'} ${version}`;
  const least = isMaria ? '10.11' : '8.0';
  return {
    command,
    prefixArgs,
    flavour: isMaria ? 'mariadb' : 'mysql',
    version,
    title,
    installDb: isMaria ? (findProgram('mariadb-install-db') ?? findProgram('mysql_install_db')) : undefined,
    tooOld: isAtLeast(version, least) ? undefined : `${title} at ${command} is too old, ${least} or later is needed`,
  };
}

/**
 * Looks at one Redis or Valkey server program.
 * @returns {Program | undefined}
 */
function describeRedis(command) {
  const text = versionText(command);
  const version = /v=(\d+\.\d+\.\d+)/.exec(text)?.[1];
  if (!version) return undefined;
  const isValkey = /valkey/i.test(text);
  const title = `${isValkey ? 'Valkey' : 'Redis'} ${version}`;
  // Sharded publish and subscribe came with 7.0.
  const tooOld = isAtLeast(version, '7.0') ? undefined : `${title} at ${command} is too old, 7.0 or later is needed`;
  return { command, prefixArgs: [], flavour: isValkey ? 'valkey' : 'redis', version, title, tooOld };
}

function bestOf(names, describe) {
  const found = names.flatMap((name) => findProgram(name) ?? []).flatMap((command) => describe(command) ?? []);
  return found.find((program) => !program.tooOld) ?? found[0];
}

/** The MySQL or MariaDB server on this machine, or undefined; look at `tooOld` before using it. */
function findMysql() {
  return bestOf(['mariadbd', 'mysqld'], describeMysql);
}

/** The Redis or Valkey server on this machine, or undefined; look at `tooOld` before using it. */
function findRedis() {
  return bestOf(['redis-server', 'valkey-server'], describeRedis);
}

module.exports = { findProgram, isAtLeast, describeMysql, describeRedis, findMysql, findRedis };
