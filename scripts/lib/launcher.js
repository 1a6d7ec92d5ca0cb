'use strict';
const fs = require('node:fs');
const path = require('node:path');
const { Stopped, UserError, explain } = require('./errors');
const { freeMbAt, requireRoom, rotateLog, writeJson } = require('./files');
const { RunLock } = require('./lock');
const { complain, say, withProgress } = require('./log');
const { superviseNode } = require('./nodes');
const { isPortFree } = require('./ports');
const { ProcessRecords } = require('./processes');
const { runOrExplain } = require('./run');
const { superviseServer } = require('./services');
const { describeUrl, keepSecrets, loadEnvironment, nodePorts, withControlDatabase } = require('./settings');
const { ensureBuild, ensureDependencies } = require('./setup');

// What a start writes: room for the build and logs always, the rest when it is not there yet.
const workMb = 100;
const dependenciesMb = 350;
const newMysqlMb = 300;

/** Sets up what is missing and runs servers and nodes until it is told to stop. */
class Launcher {
  /**
   * @param {string} root the project folder
   * @param {import('./stop-control').StopControl} control
   */
  constructor(root, control) {
    this.root = root;
    this.dataFolder = path.join(root, '.data');
    this.runFolder = path.join(this.dataFolder, 'run');
    this.logFolder = path.join(this.dataFolder, 'logs');
    this.records = new ProcessRecords(path.join(this.runFolder, 'processes'), root);
    this.lock = new RunLock(path.join(this.runFolder, 'launcher.json'));
    this.control = control;
    this.servers = {};
    this.nodes = [];
  }

  /** @returns {Promise<number>} the exit code */
  async run() {
    this.control.signal.addEventListener('abort', () => this.lock.markStopping());
    let exitCode = 0;
    try {
      await this.prepare();
      await this.startServers();
      await this.fillDatabases();
      await this.startNodes();
      this.sayWhereToGo();
      await this.control.whenAsked();
    } catch (error) {
      if (!(error instanceof Stopped)) {
        this.complain(error);
        if (process.env.TRIDENT_DEBUG) complain(error.stack);
        exitCode = 1;
      }
    }
    await this.shutDown();
    return exitCode;
  }

  /** Programs that find no room fail in a hundred ways, so the disk is looked at too. */
  complain(error) {
    const isFull = fs.existsSync(this.dataFolder) && freeMbAt(this.dataFolder) < 10;
    if (isFull) complain(`The disk is full at ${this.dataFolder}: free some space and run the command again.`);
    else complain(explain(error));
  }

  /** Everything that can refuse comes before everything that takes long. */
  async prepare() {
    this.environment = loadEnvironment(this.root);
    this.ports = nodePorts(this.environment);
    const { MYSQL_URL, REDIS_URL } = this.environment;
    if (MYSQL_URL) withControlDatabase(MYSQL_URL);
    if (REDIS_URL) describeUrl(REDIS_URL);
    requireRoom(this.dataFolder, this.neededMb());
    for (const folder of [this.runFolder, this.logFolder]) fs.mkdirSync(folder, { recursive: true });
    await this.takeLock();
    const ended = await this.records.endLeftovers();
    if (ended.length > 0) say(`Ended what an earlier run left behind: ${ended.join(', ')}`);
    this.removeRunFiles();
    await this.requireFreePorts();
    const options = { signal: this.control.signal, records: this.records };
    await ensureDependencies(this.root, options);
    await ensureBuild(this.root, options);
  }

  neededMb() {
    const dependencies = fs.existsSync(path.join(this.root, 'node_modules')) ? 0 : dependenciesMb;
    const ownMysql = this.environment.MYSQL_URL || fs.existsSync(path.join(this.dataFolder, 'mysql')) ? 0 : newMysqlMb;
    return workMb + dependencies + ownMysql;
  }

  async takeLock() {
    const holder = await this.lock.take({ onWait: () => say('Waiting for the earlier run to end ...') });
    if (holder !== undefined) {
      throw new UserError(
        `Trident IM already runs from this folder (pid ${holder}): use it, or stop it with: kill ${holder}`,
      );
    }
  }

  async requireFreePorts() {
    for (const port of this.ports) {
      if (await isPortFree(port)) continue;
      throw new UserError(
        `Port ${port} is in use: end the program that listens there, or choose others with PORT=${port + 1000} npm start.`,
      );
    }
  }

  async startServers() {
    const { MYSQL_URL, REDIS_URL } = this.environment;
    const secrets = keepSecrets(this.dataFolder, this.environment);
    const names = [...(MYSQL_URL ? [] : ['mysql']), ...(REDIS_URL ? [] : ['redis'])];
    const { root, dataFolder, records } = this;
    const options = { root, dataFolder, records, signal: this.control.signal, onChange: () => this.writeServices() };
    // Finding and installing goes one after the other: a package manager does not like company.
    for (const name of names) this.servers[name] = await superviseServer(name, options);
    const starts = await Promise.allSettled(names.map((name) => this.startUnlessStopping(this.servers[name])));
    for (const start of starts) if (start.status === 'rejected') throw start.reason;
    this.nodeEnv = {
      ...this.environment,
      ...secrets,
      MYSQL_URL: withControlDatabase(MYSQL_URL ?? this.servers.mysql.running.url),
      REDIS_URL: REDIS_URL ?? this.servers.redis.running.url,
    };
    this.writeServices();
  }

  /** Starts a supervised thing, and breaks the start off when we are told to stop meanwhile. */
  async startUnlessStopping(supervised) {
    const { signal } = this.control;
    if (signal.aborted) throw new Stopped();
    const giveUp = () => supervised.stopping.abort();
    signal.addEventListener('abort', giveUp, { once: true });
    await supervised.start();
    signal.removeEventListener('abort', giveUp);
    if (signal.aborted) throw new Stopped();
  }

  /** services.json, once everything it names is up; again when a restarted server has a new pid. */
  writeServices() {
    if (!this.nodeEnv || this.control.signal.aborted) return;
    const mysql = this.servers.mysql?.running;
    const redis = this.servers.redis?.running;
    const pick = ({ host, port, user, password, pid }) => ({ host, port, user, password, pid });
    writeJson(path.join(this.runFolder, 'services.json'), {
      mysql: mysql ? { ...pick(mysql), url: this.nodeEnv.MYSQL_URL } : describeUrl(this.nodeEnv.MYSQL_URL),
      redis: redis ? { ...pick(redis), url: this.nodeEnv.REDIS_URL } : describeUrl(this.nodeEnv.REDIS_URL),
    });
  }

  async fillDatabases() {
    const logFile = path.join(this.logFolder, 'setup.log');
    rotateLog(logFile);
    const options = { cwd: this.root, env: this.nodeEnv, signal: this.control.signal, records: this.records, logFile };
    const step = (label, advice, ...words) =>
      withProgress(label, runOrExplain(label, advice, process.execPath, words, options));
    say('Migrating the databases ...');
    await step('migrating the databases', 'It says:', path.join(this.root, 'dist', 'cli', 'tenant.js'), 'migrate');
    say('Looking after the demo world ...');
    await step('making the demo world', 'It says:', path.join(this.root, 'dist', 'cli', 'demo.js'));
  }

  async startNodes() {
    say(`Starting ${this.ports.length} node${this.ports.length === 1 ? '' : 's'} ...`);
    const { root, dataFolder, nodeEnv: env, records } = this;
    this.nodes = this.ports.map((port, index) => superviseNode({ index, port, root, dataFolder, env, records }));
    const starts = await Promise.allSettled(this.nodes.map((node) => this.startUnlessStopping(node)));
    for (const start of starts) if (start.status === 'rejected') throw start.reason;
  }

  sayWhereToGo() {
    const [first] = this.ports;
    say('Trident IM is ready.');
    const lines = [
      '',
      ...this.ports.map((port, index) => `  node ${index}   http://127.0.0.1:${port}`),
      `  API      http://127.0.0.1:${first}/docs`,
      '  log in   enterprise code demo or rival; user alice, bob, carol or dave; password demo-pass-1',
      `  logs     ${path.relative(process.cwd(), this.logFolder) || '.'}`,
      '',
      '  Ctrl-C stops everything.',
      '',
    ];
    process.stdout.write(`${lines.join('\n')}\n`);
  }

  /** Nodes first, since they still write while they end; then their servers. */
  async shutDown() {
    const hurry = this.control.hurry.signal;
    this.lock.markStopping();
    const end = (supervised) => supervised.stop(hurry).catch((error) => complain(explain(error)));
    await Promise.all(this.nodes.map(end));
    await Promise.all(Object.values(this.servers).map(end));
    if (!this.lock.held) return;
    try {
      this.removeRunFiles();
      this.lock.release();
    } catch (error) {
      complain(explain(error));
    }
    if (this.control.signal.aborted) say('Stopped.');
  }

  removeRunFiles() {
    for (const name of fs.readdirSync(this.runFolder)) {
      if (/^(services|node-\d+)\.json/.test(name)) fs.rmSync(path.join(this.runFolder, name), { force: true });
    }
  }
}

/** `npm start`. */
async function main(control) {
  const root = fs.realpathSync(path.join(__dirname, '..', '..'));
  process.exitCode = await new Launcher(root, control).run();
  process.exit();
}

module.exports = { main };
