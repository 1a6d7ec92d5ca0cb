'use strict';
const fs = require('node:fs');
const path = require('node:path');
const { runChecks, staticChecks } = require('./checks');
const { UserError } = require('./errors');
const { requireRoom } = require('./files');
const { jestProjects, runJest } = require('./jest-run');
const { RunLock } = require('./lock');
const { complain, say, withProgress } = require('./log');
const { getMysql97 } = require('./mysql97');
const { startMysql } = require('./mysql-server');
const { ProcessRecords } = require('./processes');
const { startRedisCluster } = require('./redis-cluster');
const { chooseStarter } = require('./services');
const { ensureBuild, ensureDependencies } = require('./setup');

// Test data need not survive a power cut; a killed server still loses nothing.
const fastArgs = ['--innodb-flush-log-at-trx-commit=2', '--sync-binlog=0'];
// Faults are injected with DEBUG.
const testRedisConfig = ['enable-debug-command local'];
const neededMb = 1000;
/**
 * Repeated on MySQL 9.7: what writes and reads tables in ways of its own; the rest asks the same of MySQL or nothing. All that
 * uses tables with FAULTS_FULL=1.
 */
const mysqlSpecs = [
  'auth/sessions',
  'conversation/',
  'direct-message/',
  'favorite/',
  'group/(?!big-group)',
  'group-message/',
  'idempotency/',
  'relation/relations',
  'tenant/tenants',
  'user/',
  ...(process.env.FAULTS_FULL === '1' ? ['admin/', 'auth/', 'captcha/', 'group/', 'tenant/'] : ['captcha/captchas']),
].map((name) => `integration/${name}`);
/** Repeated on a Redis Cluster, by project: sends, pages, rebases, copies; changes, kicks and several nodes; presence. */
const clusterSpecs = {
  integration: ['integration/group-message/', 'integration/presence/', 'field-reports/paused-fill'],
  e2e: ['e2e/changes', 'e2e/main-job'],
};

/** Splits the words after `npm test --` into projects (and `checks`) that are named, and what is passed on to Jest. */
function chooseWork(words, allProjects) {
  const names = words.filter((word) => word === 'checks' || allProjects.includes(word));
  const args = words.filter((word) => !names.includes(word));
  if (names.length === 0) return { checks: args.length === 0, projects: allProjects, args };
  return { checks: names.includes('checks'), projects: allProjects.filter((name) => names.includes(name)), args };
}

/** One run of the tests with private servers under `.data/test`, new ones each time. */
class TestRun {
  /**
   * @param {string} root
   * @param {import('./stop-control').StopControl} control
   */
  constructor(root, control) {
    this.root = root;
    this.control = control;
    this.signal = control.signal;
    this.folder = path.join(root, '.data', 'test');
    this.records = new ProcessRecords(path.join(root, '.data', 'test-processes'), root);
    this.lock = new RunLock(path.join(root, '.data', 'test-lock.json'));
    this.servers = [];
    this.passed = 0;
    this.failed = 0;
  }

  /** @param {string[]} words what follows `npm test --` */
  async run(words) {
    await this.prepare();
    const work = chooseWork(words, jestProjects(this.root));
    if (work.checks) await this.check();
    if (work.projects.length === 0) return;
    const needsServers = work.projects.some((name) => name !== 'unit');
    const env = needsServers ? await this.startServers() : {};
    await Promise.all([this.runFaultsAndRepeats(work, env), this.runOthers(work, env)]);
  }

  async runOthers({ projects, args }, env) {
    const others = projects.filter((name) => name !== 'faults');
    if (others.length > 0) await this.jest('tests', others, args, env);
  }

  /** Beside the others: tests of faults and of presence mostly wait, for leases and time-outs. */
  async runFaultsAndRepeats({ projects, args }, env) {
    if (projects.includes('faults')) await this.jest('tests of faults', ['faults'], args, env);
    if (projects.includes('integration')) await this.repeatOnMysql97(args, env);
    if (args.length === 0) await this.repeatOnCluster(projects, env);
  }

  async prepare() {
    requireRoom(path.join(this.root, '.data'), neededMb);
    const holder = await this.lock.take();
    if (holder !== undefined) {
      throw new UserError(
        `The tests already run in this folder (pid ${holder}): wait for them, or stop them with: kill ${holder}`,
      );
    }
    await this.records.endLeftovers();
    fs.rmSync(this.folder, { recursive: true, force: true });
    fs.mkdirSync(this.folder, { recursive: true });
    const options = { signal: this.signal, records: this.records };
    await ensureDependencies(this.root, options);
    await this.build(options);
  }

  /** A broken build is one failure; the checks and tests that follow say more about it. */
  async build(options) {
    try {
      await ensureBuild(this.root, options);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      complain(error.message);
      this.add({ passed: 0, failed: 1 });
    }
  }

  add({ passed, failed }) {
    this.passed += passed;
    this.failed += failed;
  }

  async check() {
    say('Checking format, lint, types and boundaries ...');
    this.add(await runChecks(this.root, staticChecks(this.root), { signal: this.signal, records: this.records }));
  }

  /** @returns {Promise<NodeJS.ProcessEnv>} where the tests find the servers */
  async startServers() {
    const options = { signal: this.signal, records: this.records, root: this.root };
    const startAnyMysql = await chooseStarter('mysql', options);
    const startAnyRedis = await chooseStarter('redis', options);
    const mysql = await this.keep(
      startAnyMysql({ ...options, dir: path.join(this.folder, 'mysql'), extraArgs: fastArgs }),
    );
    const redis = await this.keep(
      startAnyRedis({ ...options, dir: path.join(this.folder, 'redis'), extraConfig: testRedisConfig }),
    );
    say(`${mysql.title} and ${redis.title} run for the tests`);
    return { MYSQL_URL: mysql.url, REDIS_URL: redis.url };
  }

  async keep(starting) {
    const server = await starting;
    this.servers.push(server);
    return server;
  }

  async jest(title, projects, args, env) {
    say(`Running the ${title}: ${projects.join(', ')} ...`);
    const reportFile = path.join(this.folder, `${title.replace(/\W+/g, '-')}.json`);
    const { root, signal, records } = this;
    const jestEnv = { ...process.env, ...env };
    this.add(await runJest({ root, projects, args, reportFile, env: jestEnv, signal, records }));
  }

  async repeatOnMysql97(args, env) {
    const folder = path.join(this.root, '.data', 'mysql97');
    const { program, why } = await withProgress('fetching MySQL 9.7', getMysql97(folder, { signal: this.signal }));
    if (!program) {
      complain(`!!! SKIPPED: the integration tests were NOT repeated on MySQL 9.7: ${why}`);
      return;
    }
    const { signal, records } = this;
    const dir = path.join(this.folder, 'mysql97');
    const logFile = path.join(this.folder, 'mysql97.log');
    const options = { name: 'mysql97', dir, logFile, program, extraArgs: fastArgs, signal, records };
    const mysql = await this.keep(startMysql(options));
    const chosen = args.length > 0 ? args : ['--testPathPatterns', ...mysqlSpecs];
    await this.jest(`tests on ${mysql.title}`, ['integration'], chosen, { ...env, MYSQL_URL: mysql.url });
  }

  /** What the message pipeline asks of Redis, on three masters: keys of one script in one slot, sharded subscriptions. */
  async repeatOnCluster(projects, env) {
    const repeated = projects.filter((name) => name in clusterSpecs);
    if (repeated.length === 0) return;
    const { signal, records } = this;
    let cluster;
    try {
      cluster = await this.keep(startRedisCluster({ dir: path.join(this.folder, 'redis-cluster'), signal, records }));
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      complain(`!!! SKIPPED: the pipeline's tests were NOT repeated on a Redis Cluster: ${error.message}`);
      return;
    }
    const patterns = repeated.flatMap((name) => clusterSpecs[name]);
    const args = ['--testPathPatterns', ...patterns];
    await this.jest('tests on a Redis Cluster', repeated, args, { ...env, REDIS_URL: cluster.url });
  }

  async end() {
    await Promise.all(this.servers.map((server) => server.stop(this.control.hurry.signal)));
    this.lock.release();
  }
}

module.exports = { TestRun, chooseWork };
