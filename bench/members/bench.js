'use strict';
const { say } = require('../../scripts/lib/log');
const { redisCommand } = require('../../scripts/lib/resp');
const { options, readPlan, onEachServer } = require('../lib/comparison');
const { fixed, medianRatio, medians, table } = require('../lib/figures');
const { Crowd } = require('./crowd');
const { batchSizes, measureAdding } = require('./adding');
const { checkAnswers, sides, subjects, walk } = require('./reading');
const { openScans, scans } = require('./scan');
const { watched } = require('./watch');

const usage = `  members  a group of 10 000 members: added in batches, and its list read page by page, filtered and searched, from
           snapshots, anew, and by plain statements in turns, in one process
    --members N       members of the group (10000)
    --quick           three short rounds
    --rounds N        rounds of each comparison (9)
    --seconds S       length of one side of a round (1)
    --mysql97         fail when MySQL 9.7 cannot be had;  --no-mysql97  leave it out`;

const defaultMembers = 10_000;

async function run(bench, values) {
  const plan = { ...readPlan(values, { quick: 0.3, full: 1 }), members: Number(values.members ?? defaultMembers) };
  const results = await onEachServer(bench, values, (servers) => measureServer(bench, servers, plan));
  for (const result of results) print(result);
  bench.saveResult({ plan, results });
}

async function measureServer(bench, servers, plan) {
  const { title } = servers.mysql;
  await redisCommand(servers.redis.port, ['FLUSHALL']);
  const crowd = await Crowd.open(bench, servers, plan.members);
  try {
    say(`${title}: adding ${plan.members} members ...`);
    const adding = await measureAdding(bench, crowd, plan);
    const reading = [];
    for (const subject of await subjects(crowd)) {
      say(`${title}: ${subject.name} ...`);
      await checkAnswers(subject);
      reading.push(await compare(bench, crowd, subject, plan));
    }
    say(`${title}: the whole list ...`);
    const walks = await compareWalks(bench, crowd, plan);
    say(`${title}: all uids ...`);
    return { server: title, adding, reading, walks, scanning: await compareScans(bench, crowd, plan) };
  } finally {
    await crowd.close();
  }
}

/** One after the other until the side's time is over; what has to be done before a read is not measured. */
async function compare(bench, crowd, { name, read }, plan) {
  const figures = await inTurns(bench, plan, Object.keys(read), 'plain', (side) =>
    watched(crowd.sql, plan.durationMs, () => read[side].once(), read[side].before),
  );
  return { subject: name, ...figures };
}

async function compareScans(bench, crowd, plan) {
  const { read, close } = await openScans(crowd);
  try {
    return await inTurns(bench, plan, Object.keys(read), 'mysql', (side) =>
      watched(crowd.sql, plan.durationMs, () => read[side].once(), read[side].before),
    );
  } finally {
    await close();
  }
}

function compareWalks(bench, crowd, plan) {
  const rounds = { ...plan, rounds: Math.min(plan.rounds, 5) };
  // Once through the list, from the first page to the last.
  return inTurns(bench, rounds, Object.keys(sides), 'plain', (side) =>
    watched(crowd.sql, 0, () => walk(crowd, side), side === 'cold' ? () => crowd.change() : undefined),
  );
}

/** @param {string} reference the side that the others are compared with */
async function inTurns(bench, { rounds: count }, names, reference, measure) {
  const rounds = Object.fromEntries(names.map((name) => [name, []]));
  // Round 0 warms up the compiled code.
  for (let round = 0; round <= count; round += 1) {
    for (const name of round % 2 === 0 ? names : [...names].reverse()) {
      bench.throwIfStopped();
      const figures = await measure(name);
      if (round > 0) rounds[name].push(figures);
    }
  }
  const p50 = (name) => rounds[name].map((figures) => figures.p50Ms);
  return {
    sides: names.map((name) => ({
      name,
      ...medians(rounds[name]),
      faster: name === reference ? NaN : medianRatio(p50(reference), p50(name)),
    })),
    rounds,
  };
}

function print({ server, adding, reading, walks, scanning }) {
  const headOf = (last) => ['', 'p50 ms', 'p99 ms', 'queries', 'rows read', last];
  const line =
    (what, titles = sides) =>
    (side) => [
      `${what}: ${titles[side.name]}`,
      fixed(side.p50Ms, 2),
      fixed(side.p99Ms, 2),
      fixed(side.queries, 1),
      fixed(side.rows, 0),
      fixed(side.faster, 2),
    ];
  const batches = batchSizes.map((size) => {
    const figures = adding[size];
    return [`${size} a call`, ...[figures.perSecond, figures.p50Ms, figures.queries].map((value) => fixed(value, 1))];
  });
  process.stdout.write(
    `\n### ${server}\n\n${table(['adding', 'members/s', 'call p50 ms', 'queries/call'], batches)}\n\n`,
  );
  const pages = reading.flatMap(({ subject, sides: measured }) => measured.map(line(subject)));
  process.stdout.write(`${table(headOf('times faster than plain'), pages)}\n\n`);
  const whole = walks.sides.map(line('the whole list, 100 a page'));
  process.stdout.write(`${table(headOf('times faster than plain'), whole)}\n\n`);
  const ids = scanning.sides.map(line('all uids', scans));
  process.stdout.write(`${table(headOf('times faster than MySQL'), ids)}\n\n`);
}

module.exports = { usage, options: { ...options, members: { type: 'string' } }, run };
