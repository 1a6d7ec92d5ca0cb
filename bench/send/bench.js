'use strict';
const path = require('node:path');
const { say } = require('../../scripts/lib/log');
const { options: comparison, readPlan, onEachServer } = require('../lib/comparison');
const { fixed, medianRatio, medians, table } = require('../lib/figures');
const { Sql } = require('../lib/world');
const { drive } = require('./load');
const { Product } = require('./product');
const { recordProfile } = require('./profile');
const { SingleInserts } = require('./reference');
const { countRoundTrips, statementCounts } = require('./round-trips');

const usage = `  send     stores messages: the product's group commit beside one INSERT a message, in one process
    --quick           three short rounds
    --rounds N        rounds of each comparison (9)
    --seconds S       length of one side of a round (2)
    --pool N          connections of the reference, and of the product's pool (8)
    --profile         also writes a CPU profile of the product's side of each comparison
    --mysql97         fail when MySQL 9.7 cannot be had;  --no-mysql97  leave it out`;

const options = {
  ...comparison,
  pool: { type: 'string', default: '8' },
  profile: { type: 'boolean', default: false },
};

/** Comparisons; `goal`: so many times the messages of the reference, by the kind of server. */
const scenarios = [
  { title: '64 in flight, one group', senders: 64, groups: 1, goals: { MariaDB: 2.2, MySQL: 3.5 } },
  { title: '64 in flight, 16 groups', senders: 64, groups: 16, goals: {} },
  { title: '1 in flight', senders: 1, groups: 1, goals: {} },
];
const users = 64;
const countedMessages = 1000;
const warmUpMs = 5000;
const text = 'x'.repeat(280);

async function run(bench, values) {
  const plan = {
    ...readPlan(values, { quick: 0.7, full: 2 }),
    poolSize: Number(values.pool),
    isProfiled: values.profile,
  };
  const results = await onEachServer(bench, values, (servers) => measureServer(bench, servers, plan));
  for (const result of results) print(result);
  bench.saveResult({ plan, results });
}

/** All comparisons on one server; product and reference share the process and take turns. */
async function measureServer(bench, servers, plan) {
  const product = new Product(bench);
  const groups = Math.max(...scenarios.map((scenario) => scenario.groups));
  await flush(servers.redis);
  let reference;
  try {
    await product.open(servers, { users, groups, poolSize: plan.poolSize });
    reference = new SingleInserts(servers.mysql, product.database, plan.poolSize);
    await reference.prepare();
    const results = [];
    for (const scenario of scenarios) {
      say(`${servers.mysql.title}: ${scenario.title} ...`);
      results.push(await compare(bench, { product, reference, servers }, scenario, plan));
    }
    return { server: servers.mysql.title, scenarios: results, cost: await countCost(product, servers) };
  } finally {
    await reference?.close();
    await product.close();
  }
}

let sent = 0;
const messageFor = (scenario) => (sender) => ({
  groupId: 1 + (sender % scenario.groups),
  uid: 1 + (sender % users),
  clientMsgId: `m${process.pid}-${(sent += 1)}`,
  content: { text },
});

async function compare(bench, { product, reference, servers }, scenario, plan) {
  const next = messageFor(scenario);
  const sides = { reference, product };
  const rounds = { reference: [], product: [] };
  const pids = { mysql: servers.mysql.pid, redis: servers.redis.pid };
  // Round 0 warms up: caches, the counter's first rebase, and compiled code, which both sides of a server at work have.
  for (let round = 0; round <= plan.rounds; round += 1) {
    const order = round % 2 === 0 ? ['reference', 'product'] : ['product', 'reference'];
    for (const name of order) {
      bench.throwIfStopped();
      const durationMs = round === 0 ? Math.max(plan.durationMs, warmUpMs) : plan.durationMs;
      const work = () => drive((sender) => sides[name].send(next(sender)), scenario.senders, durationMs, pids);
      const isProfiled = plan.isProfiled && name === 'product' && round === plan.rounds;
      const figures = isProfiled ? await profiled(bench, scenario, work) : await work();
      if (round > 0) rounds[name].push(figures);
    }
  }
  const perSecond = (name) => rounds[name].map((figures) => figures.perSecond);
  return {
    title: scenario.title,
    reference: medians(rounds.reference),
    product: medians(rounds.product),
    ratio: medianRatio(perSecond('product'), perSecond('reference')),
    goal: Object.entries(scenario.goals).find(([kind]) => servers.mysql.title.startsWith(kind))?.[1] ?? null,
    rounds,
  };
}

/** Runs one side under the profiler; its figures suffer a little. */
function profiled(bench, scenario, work) {
  const file = path.join(bench.folder, `send-${scenario.title.replace(/\W+/g, '-')}.cpuprofile`);
  return recordProfile(file, work);
}

/** Redis round trips and MySQL statements of a message: alone, and under load. */
async function countCost(product, { mysql, redis }) {
  const sql = new Sql(mysql, product.database);
  const costs = [];
  for (const senders of [1, 64]) {
    const next = messageFor({ groups: 1 });
    const before = await statementCounts(sql);
    const calls = await countRoundTrips(redis, product.scriptNames(), async () => {
      let left = countedMessages;
      const loop = async (sender) => {
        while (left-- > 0) await product.send(next(sender));
      };
      await Promise.all(Array.from({ length: senders }, (_, sender) => loop(sender)));
    });
    const after = await statementCounts(sql);
    const perMessage = (count) => count / countedMessages;
    costs.push({
      senders,
      redis: Object.fromEntries([...calls].map(([name, count]) => [name, perMessage(count)])),
      mysql: Object.fromEntries(Object.keys(after).map((name) => [name, perMessage(after[name] - before[name])])),
    });
  }
  await sql.close();
  return costs;
}

async function flush(redis) {
  const { redisCommand } = require('../../scripts/lib/resp');
  await redisCommand(redis.port, ['FLUSHALL']);
}

function print({ server, scenarios: results, cost }) {
  const head = ['', 'messages/s', 'p50 ms', 'p99 ms', 'node CPU µs', 'MySQL CPU', 'Redis CPU', 'ratio', 'goal'];
  const row = (name, figures, ratio, goal) => [
    name,
    fixed(figures.perSecond, 0),
    fixed(figures.p50Ms, 2),
    fixed(figures.p99Ms, 2),
    fixed(figures.cpuUs, 0),
    fixed(figures.mysqlCpuUs, 0),
    fixed(figures.redisCpuUs, 0),
    ratio,
    goal,
  ];
  const rows = results.flatMap((result) => [
    row(`${result.title}: one INSERT each`, result.reference, '1', ''),
    row(
      `${result.title}: product`,
      result.product,
      fixed(result.ratio, 2),
      result.goal === null ? '' : `${result.ratio >= result.goal ? 'met' : 'MISSED'}: ${result.goal}`,
    ),
  ]);
  const counted = (counts) =>
    Object.entries(counts)
      .filter(([, count]) => count > 0)
      .map(([name, count]) => `${name} ${fixed(count, 2)}`)
      .join(', ');
  const costRows = cost.map(({ senders, redis, mysql }) => [senders, counted(redis), counted(mysql)]);
  const costHead = ['in flight', 'Redis round trips a message', 'MySQL statements a message'];
  process.stdout.write(`\n### ${server}\n\n${table(head, rows)}\n\n${table(costHead, costRows)}\n\n`);
}

module.exports = { usage, options, run };
