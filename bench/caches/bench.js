'use strict';
const assert = require('node:assert/strict');
const { say } = require('../../scripts/lib/log');
const { choosePort } = require('../../scripts/lib/ports');
const { redisCommand } = require('../../scripts/lib/resp');
const { options, readPlan, onEachServer } = require('../lib/comparison');
const { fixed, medianRatio, medians, table } = require('../lib/figures');
const { createTenant, insertGroup, insertUsers, nodeEnvironment, Sql } = require('../lib/world');
const { drive } = require('../send/load');
const { subjects } = require('./subjects');

const usage = `  caches   reads of profile, group access and friendship: from the cache and from MySQL, in one process
    --quick           three short rounds
    --rounds N        rounds of each comparison (9)
    --seconds S       length of one side of a round (1)
    --mysql97         fail when MySQL 9.7 cannot be had;  --no-mysql97  leave it out`;

const size = { users: 200, poolSize: 8 };
const readersAtOnce = [1, 64];
const sides = ['cache', 'mysql'];

async function run(bench, values) {
  const plan = readPlan(values, { quick: 0.4, full: 1 });
  const results = await onEachServer(bench, values, (servers) => measureServer(bench, servers, plan));
  for (const result of results) print(result);
  bench.saveResult({ plan, size, results });
}

async function measureServer(bench, servers, plan) {
  await redisCommand(servers.redis.port, ['FLUSHALL']);
  const world = await openWorld(bench, servers);
  const scenarios = [];
  try {
    for (const subject of subjects(bench, world)) {
      await checkAnswers(subject);
      for (const readers of readersAtOnce) {
        say(`${servers.mysql.title}: ${subject.name}, ${readers} at once ...`);
        scenarios.push(await compare(bench, servers, { subject, readers }, plan));
      }
    }
  } finally {
    await world.application.stop();
    await world.sql.close();
  }
  return { server: servers.mysql.title, scenarios };
}

/** Users who are all friends of the first one, in one group, and a node that has read nothing yet. */
async function openWorld(bench, servers) {
  const port = await choosePort();
  const environment = { ...nodeEnvironment({ ...servers, port }), MYSQL_POOL_SIZE: String(size.poolSize) };
  const { id: tenant, database } = await createTenant(bench, environment);
  const sql = new Sql(servers.mysql, database);
  await insertUsers(sql, size.users);
  const uids = Array.from({ length: size.users }, (_, index) => index + 1);
  const topic = await insertGroup(sql, 1, uids);
  await sql.insert(
    'im_friends',
    'uid, friend_uid',
    uids.slice(1).flatMap((uid) => [
      [1, uid],
      [uid, 1],
    ]),
  );
  const { createApplication } = bench.product('application');
  const { loadEnv } = bench.product('platform/env/env');
  const application = await createApplication(loadEnv(environment));
  await application.start();
  return { application, sql, tenant, topic, uids: uids.map(String) };
}

/** Both sides must say the same of everybody before anything is measured; the cache is warm then. */
async function checkAnswers({ name, keys, read }) {
  for (let pass = 0; pass < 2; pass += 1) {
    for (const key of keys) {
      assert.deepEqual(await read.cache(key), await read.mysql(key), `${name} of ${key}`);
    }
  }
}

async function compare(bench, { mysql, redis }, { subject, readers }, plan) {
  const pids = { mysql: mysql.pid, redis: redis.pid };
  const rounds = { cache: [], mysql: [] };
  let turn = 0;
  // Round 0 warms up the compiled code.
  for (let round = 0; round <= plan.rounds; round += 1) {
    for (const side of round % 2 === 0 ? sides : [...sides].reverse()) {
      bench.throwIfStopped();
      const once = () => subject.read[side](subject.keys[turn++ % subject.keys.length]);
      const { messages: reads, ...figures } = await drive(once, readers, plan.durationMs, pids);
      const totalCpuUs = figures.cpuUs + figures.mysqlCpuUs + figures.redisCpuUs;
      if (round > 0) rounds[side].push({ reads, ...figures, totalCpuUs });
    }
  }
  const of = (side, field) => rounds[side].map((figures) => figures[field]);
  return {
    subject: subject.name,
    readers,
    cache: medians(rounds.cache),
    mysql: medians(rounds.mysql),
    timesPerSecond: medianRatio(of('cache', 'perSecond'), of('mysql', 'perSecond')),
    timesCpu: medianRatio(of('mysql', 'totalCpuUs'), of('cache', 'totalCpuUs')),
    rounds,
  };
}

function print({ server, scenarios }) {
  const head = ['', 'reads/s', 'p50 ms', 'p99 ms', 'node CPU µs', 'MySQL CPU', 'Redis CPU', 'faster', 'cheaper'];
  const rows = scenarios.flatMap((scenario) =>
    sides.map((side) => {
      const figures = scenario[side];
      return [
        `${scenario.subject}, ${scenario.readers} at once: ${side}`,
        fixed(figures.perSecond, 0),
        ...[figures.p50Ms, figures.p99Ms].map((value) => fixed(value, 2)),
        ...[figures.cpuUs, figures.mysqlCpuUs, figures.redisCpuUs].map((value) => fixed(value, 0)),
        ...(side === 'cache' ? [fixed(scenario.timesPerSecond, 2), fixed(scenario.timesCpu, 2)] : ['', '']),
      ];
    }),
  );
  process.stdout.write(`\n### ${server}\n\n${table(head, rows)}\n\n`);
  process.stdout.write('Rooms have no numbers yet, so their look-up is not measured.\n\n');
}

module.exports = { usage, options, run };
