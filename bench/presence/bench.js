'use strict';
const { setTimeout: pause } = require('node:timers/promises');
const { UserError } = require('../../scripts/lib/errors');
const { say } = require('../../scripts/lib/log');
const { Connection, openAll } = require('../fanout/connection');
const { insertFurtherGroups, startNodes } = require('../fanout/systems');
const { fixed, table } = require('../lib/figures');
const { rssOf, cpuOf } = require('../lib/proc');
const { createTenant, insertUsers, nodeEnvironment, signToken, Sql } = require('../lib/world');
const { CommandCounter, scriptNames } = require('./commands');

const usage = `  presence   what presence costs Redis: commands of the nodes per connection and minute, at rest and while clients talk
    --connections N   real sockets, a user each, half on each of two nodes (10000)
    --groups N        groups that each user is in, of 100 members (20)
    --seconds S       how long is counted; a round of refreshes takes 40 (60)
    --quick           500 connections, 42 seconds`;

const options = {
  connections: { type: 'string' },
  groups: { type: 'string', default: '20' },
  seconds: { type: 'string' },
  quick: { type: 'boolean', default: false },
};

/** Client commands per connection and minute at rest. */
const GOAL = 2;
/** What connecting has to say is over by then: topics, indexes, the first counts. */
const SETTLE_MS = 5_000;
/** Packets of each connection while clients talk. */
const PACKETS = 5;
const nobody = { onMessage() {}, onAck() {} };

async function run(bench, values) {
  const plan = planOf(values);
  const servers = { redis: await bench.startRedis(), mysql: await bench.startMysql() };
  const system = await world(bench, servers, plan);
  const nodes = await startNodes(bench, system);
  bench.onEnd(() => nodes.stop());
  const counter = await CommandCounter.open(servers.redis.url, scriptNames(bench));
  const before = { rss: rssOf(nodes.pids), cpu: cpuOf(nodes.pids) };

  say(`${plan.connections} connections to two nodes ...`);
  const connections = await connectAll(bench, system, nodes.ports, plan);
  await pause(SETTLE_MS);
  const connecting = counter.stop();
  const memoryKib = (rssOf(nodes.pids) - before.rss) / plan.connections;

  say(`at rest for ${plan.seconds} s ...`);
  const rest = await counted(bench, counter, nodes.pids, plan, () => undefined);
  say(`each connection says ${PACKETS} times something, in ${plan.seconds} s ...`);
  const talk = await counted(bench, counter, nodes.pids, plan, () => speak(connections, plan));
  const closed = connections.filter((connection) => !connection.isReady).length;
  counter.close();

  print(plan, { connecting, rest, talk });
  say(`memory of both nodes: ${fixed(memoryKib)} KiB a connection at rest; connections lost: ${closed}`);
  const perMinute = rate(rest, total(rest.presence), plan);
  bench.saveResult({
    plan,
    memoryKib,
    closed,
    perMinute,
    rest: plain(rest),
    talk: plain(talk),
    connecting: plain(connecting),
  });
  if (closed > 0) throw new UserError(`${closed} connections were lost: the run does not count.`);
  if (perMinute > GOAL)
    throw new UserError(`${fixed(perMinute, 2)} commands per connection and minute; the goal is ${GOAL}.`);
}

function planOf(values) {
  const connections = Number(values.connections ?? (values.quick ? 500 : 10_000));
  const seconds = Number(values.seconds ?? (values.quick ? 42 : 60));
  const groups = Number(values.groups);
  if (!(connections >= 2 && seconds >= 1 && groups >= 0)) throw new UserError('the numbers must be positive');
  return { connections, seconds, groups };
}

async function world(bench, { mysql, redis }, plan) {
  // The bench is one address: what limits an address is not what is measured.
  const environment = (port) => nodeEnvironment({ mysql, redis, port });
  const tenant = await createTenant(bench, environment(1));
  const sql = new Sql(mysql, tenant.database);
  await insertUsers(sql, plan.connections);
  const uids = Array.from({ length: plan.connections }, (_, index) => index + 1);
  await insertFurtherGroups(sql, uids, plan.groups, 1);
  await sql.close();
  return {
    node: (port) => ({
      args: [require('node:path').join(bench.root, 'dist', 'main.js')],
      env: { PATH: process.env.PATH, ...environment(port) },
    }),
    readyPath: '/health/ready',
    tokenOf: (user) => signToken(tenant.id, user),
  };
}

async function connectAll(bench, system, ports, plan) {
  const connections = Array.from(
    { length: plan.connections },
    (_, index) => new Connection({ port: ports[index % ports.length], token: system.tokenOf(index + 1) }, nobody),
  );
  const { problems, problem } = await openAll(connections);
  bench.throwIfStopped();
  if (problems > 0) throw new UserError(`${problems} connections failed, the first: ${problem}`);
  return connections;
}

async function counted(bench, counter, pids, plan, work) {
  const cpu = cpuOf(pids);
  counter.start();
  const endMs = performance.now() + plan.seconds * 1000;
  await work();
  await pause(Math.max(0, endMs - performance.now()), undefined, { signal: bench.signal }).catch(() => undefined);
  bench.throwIfStopped();
  return { ...counter.stop(), cpuShare: (cpuOf(pids) - cpu) / plan.seconds };
}

/** Spread over the time, as people do. */
async function speak(connections, plan) {
  const pauseMs = (plan.seconds * 1000) / PACKETS / 10;
  for (let round = 0; round < PACKETS * 10; round += 1) {
    connections.forEach((connection, index) => {
      if (index % 10 === round % 10) connection.emit(round + 1, 'session:heartbeat', {});
    });
    await pause(pauseMs * 0.9);
  }
}

const total = (counts) => [...counts.values()].reduce((sum, count) => sum + count, 0);
const rate = (phase, count, plan) => (count / plan.connections / phase.seconds) * 60;
const plain = (phase) => ({
  ...phase,
  presence: Object.fromEntries(phase.presence),
  others: Object.fromEntries(phase.others),
});

function print(plan, { connecting, rest, talk }) {
  const names = [...new Set([connecting, rest, talk].flatMap((phase) => [...phase.presence.keys()]))];
  const cell = (phase, count) => fixed(rate(phase, count, plan), 3);
  const row = (title, count) => [
    title,
    fixed(count(connecting) / plan.connections, 3),
    cell(rest, count(rest)),
    cell(talk, count(talk)),
  ];
  const rows = names.map((name) => row(name, (phase) => phase.presence.get(name) ?? 0));
  rows.push(row('**presence in all**', (phase) => total(phase.presence)));
  rows.push(row('everything else', (phase) => total(phase.others)));
  const head = [
    'commands of the nodes',
    'to connect, each',
    'at rest, per connection and minute',
    'while clients talk',
  ];
  process.stdout.write(`\n### Presence, ${plan.connections} connections\n\n${table(head, rows)}\n\n`);
  say(
    `CPU of both nodes: ${fixed(rest.cpuShare * 100)} % of a core at rest, ${fixed(talk.cpuShare * 100)} % while clients talk`,
  );
}

module.exports = { usage, options, run };
