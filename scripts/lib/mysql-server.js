'use strict';
const { createHash, randomBytes } = require('node:crypto');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Child } = require('./child');
const { UserError } = require('./errors');
const { readJson, writeAtomic, writeJson } = require('./files');
const { findMysql } = require('./programs');
const { choosePort } = require('./ports');
const { readMysqlGreeting } = require('./mysql-probe');
const { runOrExplain } = require('./run');

/** Durable at each commit and small in memory; what the caller adds comes later on the command line and wins. */
const commonArgs = [
  '--bind-address=127.0.0.1',
  '--skip-name-resolve',
  '--character-set-server=utf8mb4',
  '--collation-server=utf8mb4_unicode_ci',
  '--default-time-zone=+00:00',
  '--skip-log-bin',
  '--innodb-flush-log-at-trx-commit=1',
  '--innodb-buffer-pool-size=128M',
  '--key-buffer-size=8M',
  '--max-connections=1000',
  // Probes and killed clients leave handshakes unfinished; that must not lock 127.0.0.1 out.
  '--max-connect-errors=1000000',
  '--performance-schema=OFF',
];
const flavourArgs = {
  mariadb: ['--aria-pagecache-buffer-size=8M', '--innodb-log-file-size=64M'],
  mysql: ['--loose-mysqlx=OFF', '--loose-innodb-redo-log-capacity=64M', '--secure-file-priv=NULL'],
};

/**
 * A running private MySQL or MariaDB server.
 * @typedef {object} MysqlServer
 * @property {string} host always 127.0.0.1
 * @property {number} port
 * @property {string} user may do everything on this server
 * @property {string} password
 * @property {number} pid the server's own process
 * @property {string} url `mysql://user:password@host:port/`, without a database
 * @property {string} title name and version, for people
 * @property {Promise<string>} exited resolves with the cause, in words, when the process ends
 * @property {(hurry?: AbortSignal) => Promise<void>} stop clean shutdown; resolves when the process is gone
 * @property {(signal?: NodeJS.Signals) => void} kill sends a signal (SIGKILL) and does not wait
 */

/**
 * Starts a private MySQL or MariaDB server that keeps all it has in `dir`; a second start there finds the same data, user,
 * password and, when it is still free, port.
 * @param {object} options
 * @param {string} options.dir made when missing; nothing else may live in it
 * @param {number} [options.port] instead of the one kept or chosen
 * @param {string[]} [options.extraArgs] server options, the last word over ours (for example `--log-bin`)
 * @param {import('./programs').Program} [options.program] instead of the one found on this machine
 * @param {string} [options.logFile] default `dir/server.log`
 * @param {string} [options.name] for records and messages
 * @param {AbortSignal} [options.signal] gives up and ends the server
 * @param {import('./processes').ProcessRecords} [options.records]
 * @returns {Promise<MysqlServer>} once it takes logins
 * @throws {UserError} when there is no program or the server does not come up
 */
async function startMysql(options) {
  const { dir, extraArgs = [], program = findMysql(), logFile, name = 'mysql', signal, records } = options;
  if (!program) throw new UserError('There is no MySQL or MariaDB server on this machine: install mariadb-server.');
  const home = path.resolve(dir);
  const log = logFile ?? path.join(home, 'server.log');
  fs.mkdirSync(temporaryFolder(home), { recursive: true, mode: 0o700 });
  requireSameFlavour(home, program);
  await makeDataFolder(home, program, { signal, records, logFile: log });
  const account = keepAccount(home);
  const chosenPort = options.port ?? (await choosePort(readJson(path.join(home, 'port.json'))?.port));
  writeJson(path.join(home, 'port.json'), { port: chosenPort });
  const args = [
    ...serverWords(program, home),
    `--port=${chosenPort}`,
    `--socket=${socketPath(home)}`,
    `--pid-file=${path.join(home, 'mysqld.pid')}`,
    `--init-file=${account.initFile}`,
    ...commonArgs,
    ...flavourArgs[program.flavour],
    ...extraArgs,
  ];
  const child = new Child({ name, command: program.command, args, logFile: log, records });
  // The greeting alone could come from a stranger on the port, so the process must live as well.
  const isReady = async () => (await readMysqlGreeting(chosenPort)) !== undefined && !child.hasExited;
  // MariaDB hangs for good when SIGTERM comes in the middle of its start.
  await child.waitUntil(isReady, { signal, settleMs: 8_000 });
  const { user, password } = account;
  return {
    host: '127.0.0.1',
    port: chosenPort,
    user,
    password,
    pid: child.pid,
    url: `mysql://${user}:${password}@127.0.0.1:${chosenPort}/`,
    title: program.title,
    exited: child.exited,
    stop: (hurry) => child.stop(30_000, hurry),
    kill: (signalName) => child.kill(signalName),
  };
}

function serverWords(program, home, dataFolder) {
  return [...program.prefixArgs, ...baseArgs(home, dataFolder), ...(program.serverArgs ?? [])];
}

/**
 * `--no-defaults` must come first; a server refuses to run as root unless told to. In a shared temporary folder a server that
 * starts takes away the temporary tables of those that run.
 */
function baseArgs(home, dataFolder = path.join(home, 'data')) {
  const asRoot = process.getuid?.() === 0 ? ['--user=root'] : [];
  return ['--no-defaults', ...asRoot, `--datadir=${dataFolder}`, `--tmpdir=${temporaryFolder(home)}`];
}

const temporaryFolder = (home) => path.join(home, 'tmp');

/** MySQL cannot read MariaDB's files nor the other way round, so a change of program is told before it harms. */
function requireSameFlavour(home, program) {
  const file = path.join(home, 'flavour.json');
  const kept = readJson(file);
  if (kept && kept.flavour !== program.flavour) {
    throw new UserError(
      `The data in ${home} was written by ${kept.title}, but this machine now runs ${program.title}. Install ${kept.title}, or remove that folder to begin anew.`,
    );
  }
  writeJson(file, { flavour: program.flavour, title: program.title });
}

/** Makes a new data folder beside and renames it, so that an interrupted start leaves no half of one. */
async function makeDataFolder(home, program, options) {
  const dataFolder = path.join(home, 'data');
  if (fs.existsSync(dataFolder)) return;
  const half = `${dataFolder}.new`;
  fs.rmSync(half, { recursive: true, force: true });
  const isMaria = program.flavour === 'mariadb';
  if (isMaria && !program.installDb) {
    throw new UserError('MariaDB is here without mariadb-install-db: install the package mariadb-server.');
  }
  const command = isMaria ? program.installDb : program.command;
  const args = isMaria
    ? [...baseArgs(home, half), '--skip-test-db', '--skip-name-resolve']
    : [...serverWords(program, home, half), ...flavourArgs.mysql, '--initialize-insecure'];
  const advice = fs.existsSync('/etc/apparmor.d/usr.sbin.mysqld')
    ? 'AppArmor may keep mysqld out of this folder: install mariadb-server, or set MYSQL_URL.'
    : 'Is the disk full or the folder not writable?';
  await runOrExplain(`Making a new ${program.title} data folder in ${home}`, advice, command, args, options);
  fs.renameSync(half, dataFolder);
}

/**
 * The account everything uses: a random password, made once, set again by the server at each start before it takes
 * logins. Without name resolution a client on this machine is `127.0.0.1`.
 */
function keepAccount(home) {
  const file = path.join(home, 'account.json');
  const account = readJson(file) ?? { user: 'root', password: randomBytes(18).toString('hex') };
  writeJson(file, account);
  const who = `'${account.user}'@'127.0.0.1'`;
  const initFile = path.join(home, 'account.sql');
  // One statement a line: that is the format of an init file.
  const statements = [
    `CREATE USER IF NOT EXISTS ${who} IDENTIFIED BY '${account.password}';`,
    `ALTER USER ${who} IDENTIFIED BY '${account.password}';`,
    `ALTER USER 'root'@'localhost' IDENTIFIED BY '${account.password}';`,
    `GRANT ALL PRIVILEGES ON *.* TO ${who} WITH GRANT OPTION;`,
  ];
  writeAtomic(initFile, `${statements.join('\n')}\n`);
  return { ...account, initFile };
}

/** In the folder itself, or in a private one under the system's temporary folder when the path is too long for a socket. */
function socketPath(home) {
  const here = path.join(home, 'mysqld.sock');
  if (Buffer.byteLength(here) <= 90) return here;
  const short = createHash('sha256').update(home).digest('hex').slice(0, 12);
  const folder = path.join(os.tmpdir(), `trident-${process.getuid?.() ?? 0}-${short}`);
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  return path.join(folder, 'm.sock');
}

module.exports = { startMysql };
