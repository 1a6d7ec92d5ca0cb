'use strict';
const assert = require('node:assert/strict');
const { say } = require('../../scripts/lib/log');
const { options, readPlan, onEachServer } = require('../lib/comparison');
const { fixed, medianRatio, medians, table } = require('../lib/figures');
const { drive } = require('../send/load');
const { statementCounts } = require('../send/round-trips');
const { Library } = require('./library');

const usage = `  history  reads pages of one group: hot set, MySQL and TypeORM's repository.find, in one process
    --quick           three short rounds
    --rounds N        rounds of each comparison (9)
    --seconds S       length of one side of a round (1)
    --mysql97         fail when MySQL 9.7 cannot be had;  --no-mysql97  leave it out`;

const pageSize = 100;
const size = { readers: 16, messages: 2000, textLength: 300, poolSize: 8 };
/** Catch-up pages begin at so many places one after the other, all within what a hot set holds. */
const catchUpStarts = 400;
const kinds = {
  newest: () => ({ limit: pageSize }),
  'catch-up': (turn) => ({ afterSeq: 1200 + ((turn * 37) % catchUpStarts), limit: pageSize }),
};
/** Where the pages of each side must come from. */
const sources = { hot: 'hot', mysql: 'mysql', find: 'find' };
const titles = { hot: 'product, hot set', mysql: 'product, MySQL', find: 'repository.find' };
/** So many times the CPU of a page (node, MySQL and Redis together) the dearer side must take at least. */
const goals = { hot: { dearer: 'mysql', times: 5 }, mysql: { dearer: 'find', times: 2 } };
/** Pages from elsewhere, when a cached permission ends for example: more of them would measure something else. */
const maxStrayShare = 0.01;

async function run(bench, values) {
  const plan = readPlan(values, { quick: 0.4, full: 1 });
  const results = await onEachServer(bench, values, (servers) => measureServer(bench, servers, plan));
  for (const result of results) print(result);
  bench.saveResult({ plan, size, pageSize, results });
}

async function measureServer(bench, servers, plan) {
  const library = new Library(bench, servers, size);
  try {
    say(`${servers.mysql.title}: storing ${size.messages} messages ...`);
    await library.open();
    await checkPages(library);
    const scenarios = [];
    for (const readers of [1, size.readers]) {
      for (const kind of Object.keys(kinds)) {
        say(`${servers.mysql.title}: ${kind} pages, ${readers} at once ...`);
        scenarios.push(await compare(bench, library, { kind, readers }, plan));
      }
    }
    return { server: servers.mysql.title, scenarios };
  } finally {
    await library.close();
  }
}

/** Every side must give the same messages, and from where it should, before anything is measured. */
async function checkPages(library) {
  const queries = [kinds.newest(), ...Array.from({ length: catchUpStarts }, (_, turn) => kinds['catch-up'](turn))];
  const pages = new Map();
  for (const name of Object.keys(sources)) {
    await library.warmUp(name, sources[name], [queries[0], queries[1]]);
    for (const query of queries) {
      const { text } = await library.readers[name].read(1, query);
      const { messages } = JSON.parse(text);
      const seqs = messages.map(({ seq }) => seq);
      assert.deepEqual(seqs, library.expected(query), `${titles[name]}: seqs of ${JSON.stringify(query)}`);
      const key = JSON.stringify(query);
      if (!pages.has(key)) pages.set(key, JSON.stringify(messages));
      assert.equal(JSON.stringify(messages), pages.get(key), `${titles[name]}: messages of ${key}`);
    }
  }
  say(`all three sides give the same bytes of ${queries.length} pages`);
}

async function compare(bench, library, scenario, plan) {
  const names = Object.keys(sources);
  const rounds = Object.fromEntries(names.map((name) => [name, []]));
  // Round 0 warms up: caches and compiled code.
  for (let round = 0; round <= plan.rounds; round += 1) {
    const order = names.map((_, index) => names[(index + round) % names.length]);
    for (const name of order) {
      bench.throwIfStopped();
      const figures = await measure(library, name, scenario, plan);
      if (round > 0) rounds[name].push(figures);
    }
  }
  const totals = (name) => rounds[name].map((figures) => figures.totalCpuUs);
  const sides = names.map((name) => ({ name, ...medians(rounds[name]), ...judge(name, totals) }));
  return { ...scenario, sides, rounds };
}

/** How many times dearer the next side is, by the CPU of each round, beside the goal. */
function judge(name, totals) {
  const goal = goals[name];
  return goal ? { ...goal, ratio: medianRatio(totals(goal.dearer), totals(name)) } : {};
}

/** The text of a page has its first seq within so many characters, and its last one within so many of its end. */
const [endBytes, lastBytes] = [200, 1000];
const endsOf = (seqs) => [`"seq":${seqs[0]},`, `"seq":${seqs.at(-1)},`];

/** One side of a round; every page is checked while it is measured, as cheaply as possible. */
async function measure(library, name, { kind, readers }, { durationMs }) {
  const pids = { mysql: library.servers.mysql.pid, redis: library.servers.redis.pid };
  const bounds = new Map();
  let [turn, strays] = [0, 0];
  const read = async (reader) => {
    const query = kinds[kind](turn++);
    const { text, source } = await library.readers[name].read(reader + 1, query);
    if (source !== sources[name]) strays += 1;
    const key = query.afterSeq ?? 'newest';
    if (!bounds.has(key)) bounds.set(key, endsOf(library.expected(query)));
    const [first, last] = bounds.get(key);
    if (!text.slice(0, endBytes).includes(first) || !text.slice(-lastBytes).includes(last)) {
      throw new Error(`${titles[name]}: another page than the table has for ${JSON.stringify(query)}`);
    }
  };
  const before = await statementCounts(library.sql);
  const { messages: pages, ...figures } = await drive(read, readers, durationMs, pids);
  const after = await statementCounts(library.sql);
  if (strays > pages * maxStrayShare)
    throw new Error(`${titles[name]}: ${strays} of ${pages} pages came from elsewhere`);
  const totalCpuUs = figures.cpuUs + figures.mysqlCpuUs + figures.redisCpuUs;
  return { pages, ...figures, totalCpuUs, queries: (after.select - before.select) / pages };
}

function print({ server, scenarios }) {
  const head = [
    ...['', 'pages/s', 'p50 ms', 'p99 ms', 'node CPU µs', 'MySQL CPU', 'Redis CPU', 'total CPU', 'queries/page'],
    ...['cheaper than the next', 'goal'],
  ];
  const rows = scenarios.flatMap(({ kind, readers, sides }) =>
    sides.map((side) => [
      `${kind}, ${readers} at once: ${titles[side.name]}`,
      fixed(side.perSecond, 0),
      fixed(side.p50Ms, 2),
      fixed(side.p99Ms, 2),
      fixed(side.cpuUs, 0),
      fixed(side.mysqlCpuUs, 0),
      fixed(side.redisCpuUs, 0),
      fixed(side.totalCpuUs, 0),
      fixed(side.queries, 2),
      side.ratio === undefined ? '' : fixed(side.ratio, 2),
      side.ratio === undefined ? '' : `${side.ratio >= side.times ? 'met' : 'MISSED'}: ${side.times}`,
    ]),
  );
  process.stdout.write(`\n### ${server}\n\n${table(head, rows)}\n\n`);
}

module.exports = { usage, options, run };
