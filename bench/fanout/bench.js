'use strict';
const { UserError } = require('../../scripts/lib/errors');
const { complain, say } = require('../../scripts/lib/log');
const { fixed, median, medianRatio, table } = require('../lib/figures');
const { measure, measureRest } = require('./measure');
const { plainSocketIo, product, rawWebSockets } = require('./systems');

const usage = `  fanout   one group whose members are all online: two nodes of the product beside two of plain Socket.IO and two of raw ws
    --members N       members, each with one connection (10000, then a hot group of 5000)
    --phases LIST     what is measured: rate:<messages a second> or flight:<messages under way>
                      (rate:4,flight:1,flight:8; the hot group: rate:40)
    --groups N        further groups of 100 that each member is in (20)
    --rounds N        rounds; each starts all systems anew, in turns (3)
    --seconds S       about how long a phase lasts (4)
    --no-raw          without raw ws
    --profile         one round, and a CPU profile of every node and phase of it; its figures mean little
    --quick           one short round with 500 members`;

const options = {
  members: { type: 'string' },
  rounds: { type: 'string' },
  phases: { type: 'string' },
  groups: { type: 'string' },
  seconds: { type: 'string' },
  'no-raw': { type: 'boolean', default: false },
  profile: { type: 'boolean', default: false },
  quick: { type: 'boolean', default: false },
};

/** People of another group, who write all the time. */
const OTHERS = 4;
/** Deliveries a second that a phase without a rate is sized for. */
const EXPECTED_PER_SECOND = 50_000;
const USUAL = 'rate:4,flight:1,flight:8';

async function run(bench, values) {
  const plan = planOf(values);
  const servers = { redis: await bench.startRedis(), mysql: await bench.startMysql() };
  const world = { sizes: plan.parts.map(({ members }) => members), others: OTHERS, groups: plan.groups };
  const systems = [plainSocketIo(servers), await product(bench, servers, world)];
  if (plan.raw) systems.push(rawWebSockets(servers));
  const titles = systems.map((system) => system.title);
  const results = [];
  for (const part of plan.parts) {
    const rests = [];
    for (const system of systems) {
      bench.throwIfStopped();
      say(`memory of ${part.members} connections at rest: ${system.title} ...`);
      rests.push(await measureRest(bench, system, servers, { ...plan, ...part }));
    }
    const rounds = await measureAll(bench, systems, servers, rests, { ...plan, ...part });
    part.phases.forEach((phase, index) => printPhase(part, phase, index, titles, rounds));
    printMemory(part, titles, rests, rounds);
    results.push({ ...part, rests, rounds });
  }
  bench.saveResult({ plan, servers: [servers.redis.title, servers.mysql.title], titles, results });
  for (const { rounds } of results) requireComplete(titles, rounds);
}

/** @returns {Promise<object[][]>} results by system and round */
async function measureAll(bench, systems, servers, rests, plan) {
  const rounds = systems.map(() => []);
  for (let round = 0; round < plan.rounds; round += 1) {
    for (let turn = 0; turn < systems.length; turn += 1) {
      bench.throwIfStopped();
      const index = (turn + round) % systems.length;
      say(`round ${round + 1} of ${plan.rounds}: ${systems[index].title}, ${plan.members} members ...`);
      rounds[index].push(await measure(bench, systems[index], servers, rests[index].base, plan));
    }
  }
  return rounds;
}

function planOf(values) {
  const seconds = Number(values.seconds ?? (values.quick ? 1 : 4));
  const part = (members, phases) => {
    if (!(members >= 2)) throw new UserError('--members must be a number, 2 at least');
    const warmUp = { title: 'warm-up', inFlight: 2, count: Math.max(5, Math.ceil(60_000 / members)) };
    return { members, phases: phases.split(',').map((word) => phaseOf(word, seconds, members)), warmUp };
  };
  const { members, phases, quick, profile } = values;
  const isDefault = members === undefined && phases === undefined && !quick;
  const one = () => part(Number(members ?? (quick ? 500 : 10_000)), phases ?? USUAL);
  return {
    others: OTHERS,
    groups: Number(values.groups ?? (quick ? 2 : 20)),
    rounds: Number(values.rounds ?? (quick || profile ? 1 : 3)),
    raw: !values['no-raw'],
    profile,
    parts: isDefault ? [part(10_000, USUAL), part(5_000, 'rate:40')] : [one()],
  };
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

function printPhase({ members }, phase, index, titles, rounds) {
  const of = (system, field) => rounds[system].map((result) => result.phases[index][field]);
  const middle = (system, field, digits) => fixed(median(of(system, field)), digits);
  const ratio = (system, field) => fixed(medianRatio(of(system, field), of(0, field)), 2);
  const total = (system, field) => of(system, field).reduce((sum, value) => sum + value, 0);
  const columns = [
    ['CPU µs/delivery', (system) => middle(system, 'cpuUs', 2)],
    ['ratio', (system) => ratio(system, 'cpuUs')],
    ['without the others', (system) => middle(system, 'ownCpuUs', 2)],
    ['ratio', (system) => ratio(system, 'ownCpuUs')],
    ['Redis CPU', (system) => middle(system, 'redisCpuUs', 2)],
    ['MySQL CPU', (system) => middle(system, 'mysqlCpuUs', 2)],
    ['deliveries/s', (system) => middle(system, 'deliveriesPerSecond', 0)],
    ['ratio', (system) => ratio(system, 'deliveriesPerSecond')],
    ['last p50 ms', (system) => middle(system, 'lastP50Ms')],
    ['p99', (system) => middle(system, 'lastP99Ms')],
    ['ratio p50', (system) => ratio(system, 'lastP50Ms')],
    ['ack p50 ms', (system) => middle(system, 'ackP50Ms')],
    ["others' ack p99 ms", (system) => middle(system, 'othersAckP99Ms')],
    ['loop delay p99 ms', (system) => middle(system, 'loopP99Ms')],
    ['bytes/delivery', (system) => middle(system, 'bytesPerDelivery', 0)],
    ['Redis KiB/message', (system) => middle(system, 'redisKibPerMessage')],
    ['lost', (system) => total(system, 'lost')],
    ['gaps', (system) => total(system, 'gaps')],
    ['doubles', (system) => total(system, 'doubles')],
  ];
  const head = ['', ...columns.map(([title]) => title)];
  const rows = titles.map((title, system) => [title, ...columns.map(([, cell]) => cell(system))]);
  process.stdout.write(`\n### ${members} members, ${phase.title}\n\n${table(head, rows)}\n`);
}

function printMemory({ members }, titles, rests, rounds) {
  const of = (system, value) => median(rounds[system].map(value));
  const head = [
    'KiB a connection, garbage collected',
    'at rest: resident',
    'heap',
    'after the load: resident',
    'heap',
    'connecting: CPU ms each',
    's in all',
  ];
  const rows = titles.map((title, system) => [
    title,
    fixed(rests[system].idle.rssKib),
    fixed(rests[system].idle.heapKib),
    fixed(of(system, ({ loaded }) => loaded.rssKib)),
    fixed(of(system, ({ loaded }) => loaded.heapKib)),
    fixed(
      of(system, ({ connectCpuMs }) => connectCpuMs),
      2,
    ),
    fixed(of(system, ({ connectSeconds }) => connectSeconds)),
  ]);
  process.stdout.write(`\n### ${members} connections\n\n${table(head, rows)}\n\n`);
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
