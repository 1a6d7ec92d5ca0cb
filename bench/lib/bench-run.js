'use strict';
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Stopped, UserError } = require('../../scripts/lib/errors');
const { requireRoom, writeJson } = require('../../scripts/lib/files');
const { RunLock } = require('../../scripts/lib/lock');
const { complain, say, withProgress } = require('../../scripts/lib/log');
const { getMysql97 } = require('../../scripts/lib/mysql97');
const { startMysql } = require('../../scripts/lib/mysql-server');
const { findMysql } = require('../../scripts/lib/programs');
const { ProcessRecords } = require('../../scripts/lib/processes');
const { chooseStarter } = require('../../scripts/lib/services');
const { ensureBuild, ensureDependencies } = require('../../scripts/lib/setup');

const neededMb = 2000;

/** What a MySQL in production does: its log is flushed at each commit, and so is its binary log, which is on by default. */
const durableArgs = {
  mariadb: ['--innodb-flush-log-at-trx-commit=1', '--innodb-buffer-pool-size=512M'],
  mysql: [
    '--innodb-flush-log-at-trx-commit=1',
    '--innodb-buffer-pool-size=512M',
    '--log-bin=binlog',
    '--sync-binlog=1',
    '--loose-innodb-redo-log-capacity=256M',
  ],
};

/** One run of a bench: its private servers under `.data/bench`, new ones each time, and its result file. */
class BenchRun {
  /**
   * @param {string} root the project folder
   * @param {import('../../scripts/lib/stop-control').StopControl} control
   * @param {string} name of the bench
   */
  constructor(root, control, name) {
    this.root = root;
    this.control = control;
    this.signal = control.signal;
    this.name = name;
    this.folder = path.join(root, '.data', 'bench');
    this.serverFolder = path.join(this.folder, 'servers');
    this.records = new ProcessRecords(path.join(root, '.data', 'bench-processes'), root);
    this.lock = new RunLock(path.join(root, '.data', 'bench-lock.json'));
    /** Ends what was started, the last first. */
    this.cleanups = [];
  }

  async prepare() {
    requireRoom(this.folder, neededMb);
    const holder = await this.lock.take();
    if (holder !== undefined) {
      throw new UserError(`A bench runs in this folder already (pid ${holder}): wait for it, or: kill ${holder}`);
    }
    await this.records.endLeftovers();
    fs.rmSync(this.serverFolder, { recursive: true, force: true });
    fs.mkdirSync(this.serverFolder, { recursive: true });
    const options = { signal: this.signal, records: this.records };
    await ensureDependencies(this.root, options);
    await ensureBuild(this.root, options);
  }

  /** @throws {Stopped} once the run has been asked to stop */
  throwIfStopped() {
    if (this.signal.aborted) throw new Stopped();
  }

  /** Registers what has to be ended with the run. */
  onEnd(cleanup) {
    this.cleanups.push(cleanup);
  }

  /** A module of the built product, `application` for example. */
  product(name) {
    return require(path.join(this.root, 'dist', `${name}.js`));
  }

  startRedis(name = 'redis') {
    return this.startServer('redis', name, {});
  }

  /** The MySQL or MariaDB of this machine. */
  startMysql() {
    return this.startServer('mysql', 'mysql', { extraArgs: durableArgs[findMysql()?.flavour ?? 'mariadb'] });
  }

  /**
   * MySQL 9.7 from Debian's packages, kept in `.data/mysql97`.
   * @param {boolean} required fail instead of skipping when it cannot be had
   * @returns {Promise<import('../../scripts/lib/mysql-server').MysqlServer | undefined>} undefined when it is skipped, said aloud
   */
  async startMysql97(required) {
    const folder = path.join(this.root, '.data', 'mysql97');
    const { program, why } = await withProgress('fetching MySQL 9.7', getMysql97(folder, { signal: this.signal }));
    if (!program && required) throw new UserError(`MySQL 9.7 cannot be had: ${why}`);
    if (!program) {
      complain(`!!! SKIPPED: nothing was measured on MySQL 9.7: ${why}`);
      return undefined;
    }
    return this.keep(startMysql({ ...this.serverOptions('mysql97'), program, extraArgs: durableArgs.mysql }));
  }

  /** Writes the result and says where. */
  saveResult(result) {
    const file = path.join(this.folder, `${this.name}.json`);
    writeJson(file, { bench: this.name, at: new Date().toISOString(), machine: machine(), ...result });
    say(`the figures are in ${path.relative(process.cwd(), file)}`);
  }

  async end() {
    for (const cleanup of this.cleanups.reverse()) {
      await cleanup().catch((error) => complain(`Not ended cleanly: ${error.message}`));
    }
    fs.rmSync(this.serverFolder, { recursive: true, force: true });
    this.lock.release();
  }

  async startServer(kind, name, more) {
    const start = await chooseStarter(kind, { signal: this.signal, records: this.records });
    return this.keep(start({ root: this.root, ...this.serverOptions(name), ...more }));
  }

  serverOptions(name) {
    const { signal, records } = this;
    const dir = path.join(this.serverFolder, name);
    return { name, dir, logFile: path.join(this.folder, `${name}.log`), signal, records };
  }

  async keep(starting) {
    const server = await starting;
    this.onEnd(() => server.stop(this.control.hurry.signal));
    say(`${server.title} runs on 127.0.0.1:${server.port}`);
    return server;
  }
}

/** What the figures were measured on. */
function machine() {
  const [cpu] = os.cpus();
  return {
    cpu: cpu?.model.trim() ?? 'unknown',
    cores: os.cpus().length,
    memoryGiB: Math.round(os.totalmem() / 2 ** 30),
    kernel: `${os.type()} ${os.release()}`,
    node: process.version,
  };
}

module.exports = { BenchRun, machine };
