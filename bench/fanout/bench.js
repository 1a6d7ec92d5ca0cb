'use strict';
const { UserError } = require('../../scripts/lib/errors');
const { complain, say } = require('../../scripts/lib/log');
const { fixed, median, medianRatio, table } = require('../lib/figures');
const { measure } = require('./measure');
const { plainSocketIo, product } = require('./systems');

const usage = `  fanout   one group whose members are all online: two nodes of the product beside two of plain Socket.IO
    --members N       members, each with one connection (2000)
    --rounds N        rounds; each starts both systems anew, in turns (3)
    --phases LIST     what is measured: rate:<messages a second> or flight:<messages under way>
                      (rate:4,flight:1,flight:8)
    --seconds S       about how long a phase lasts (4)
    --quick           one short round with 500 members`;

const options = {
  members: { type: 'string' },
  rounds: { type: 'string' },
  phases: { type: 'string', default: 'rate:4,flight:1,flight:8' },
  seconds: { type: 'string' },
  quick: { type: 'boolean', default: false },
};

/** People of another group, who write all the time. */
const OTHERS = 4;
/** Deliveries a second that a phase without a rate is sized for. */
const EXPECTED_PER_SECOND = 50_000;

async function run(bench, values) {
  const plan = planOf(values);
  const servers = { redis: await bench.startRedis(), mysql: await bench.startMysql() };
  const systems = [plainSocketIo(servers), await product(bench, servers, plan.members, OTHERS)];
  const rounds = systems.map(() => []);
  for (let round = 0; round < plan.rounds; round += 1) {
    const order = round % 2 === 0 ? [0, 1] : [1, 0];
    for (const index of order) {
      bench.throwIfStopped();
      say(`round ${round + 1} of ${plan.rounds}: ${systems[index].title}, ${plan.members} members ...`);
      rounds[index].push(await measure(bench, systems[index], servers, plan));
    }
  }
  const titles = systems.map((system) => system.title);
  plan.phases.forEach((phase, index) => printPhase(phase, index, titles, rounds));
  printMemory(titles, rounds);
  bench.saveResult({ plan, servers: [servers.redis.title, servers.mysql.title], titles, rounds });
  requireComplete(titles, rounds);
}

function planOf(values) {
  const members = Number(values.members ?? (values.quick ? 500 : 2000));
  const seconds = Number(values.seconds ?? (values.quick ? 1 : 4));
  if (!(members >= 2)) throw new UserError('--members must be a number, 2 at least');
  const phases = values.phases.split(',').map((word) => phaseOf(word, seconds, members));
  const warmUp = { title: 'warm-up', inFlight: 2, count: Math.max(5, Math.ceil(60_000 / members)) };
  return { members, others: OTHERS, rounds: Number(values.rounds ?? (values.quick ? 1 : 3)), phases, warmUp };
}

function phaseOf(word, seconds, members) {
  const [, kind, number] = /^(rate|flight):(\d+)$/.exec(word) ?? [];
  if (kind === 'rate') {
    return { title: `${number} messages/s`, perSecond: Number(number), count: Math.max(5, Number(number) * seconds) };
  }
  if (kind === 'flight') {
    const count = Math.max(Number(number) * 4, Math.ceil((EXPECTED_PER_SECOND * seconds) / members));
    return { title: `${number} in flight`, inFlight: Number(number), count };
  }
  throw new UserError(`--phases: ${word} is neither rate:<number> nor flight:<number>`);
}

function printPhase(phase, index, titles, rounds) {
  const of = (system, field) => rounds[system].map((result) => result.phases[index][field]);
  const middle = (system, field, digits) => fixed(median(of(system, field)), digits);
  const ratio = (system, field) => fixed(medianRatio(of(system, field), of(0, field)), 2);
  const total = (system, field) => of(system, field).reduce((sum, value) => sum + value, 0);
  const columns = [
    ['CPU µs/delivery', (system) => middle(system, 'cpuUs', 2)],
    ['ratio', (system) => ratio(system, 'cpuUs')],
    ['Redis CPU', (system) => middle(system, 'redisCpuUs', 2)],
    ['MySQL CPU', (system) => middle(system, 'mysqlCpuUs', 2)],
    ['deliveries/s', (system) => middle(system, 'deliveriesPerSecond', 0)],
    ['ratio', (system) => ratio(system, 'deliveriesPerSecond')],
    ['last p50 ms', (system) => middle(system, 'lastP50Ms')],
    ['p99', (system) => middle(system, 'lastP99Ms')],
    ['ratio p50', (system) => ratio(system, 'lastP50Ms')],
    ['ack p50 ms', (system) => middle(system, 'ackP50Ms')],
    ["others' ack p99 ms", (system) => middle(system, 'othersAckP99Ms')],
    ['bytes/delivery', (system) => middle(system, 'bytesPerDelivery', 0)],
    ['Redis KiB/message', (system) => middle(system, 'redisKibPerMessage')],
    ['lost', (system) => total(system, 'lost')],
    ['gaps', (system) => total(system, 'gaps')],
    ['doubles', (system) => total(system, 'doubles')],
  ];
  const head = ['', ...columns.map(([title]) => title)];
  const rows = titles.map((title, system) => [title, ...columns.map(([, cell]) => cell(system))]);
  process.stdout.write(`\n### ${phase.title}\n\n${table(head, rows)}\n`);
}

function printMemory(titles, rounds) {
  const of = (system, field) => median(rounds[system].map((result) => result[field]));
  const head = ['', 'KiB/connection at rest', 'after the load', 'connecting: CPU ms each', 's in all'];
  const rows = titles.map((title, system) => [
    title,
    fixed(of(system, 'idleKib')),
    fixed(of(system, 'loadedKib')),
    fixed(of(system, 'connectCpuMs'), 2),
    fixed(of(system, 'connectSeconds')),
  ]);
  process.stdout.write(`\n### Connections\n\n${table(head, rows)}\n\n`);
}

/** A run that lost, doubled or reordered something is no result. */
function requireComplete(titles, rounds) {
  const faults = titles.flatMap((title, system) =>
    rounds[system].flatMap((result, round) =>
      result.phases.flatMap((phase, index) => {
        const { isComplete, lost, gaps, doubles, refused, refusal, closed } = phase;
        if (isComplete && lost + gaps + doubles + refused + closed === 0) return [];
        const counts = `${lost} lost, ${gaps} gaps, ${doubles} doubles, ${closed} closed, ${refused} refused`;
        return [`round ${round + 1}, ${title}, phase ${index + 1}: ${counts}${refusal ? ` (${refusal})` : ''}`];
      }),
    ),
  );
  for (const fault of faults) complain(fault);
  if (faults.length > 0) throw new UserError('The run does not count: not everybody got everything once and in order.');
}

module.exports = { usage, options, run };
