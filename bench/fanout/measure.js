'use strict';
const { fork } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { UserError } = require('../../scripts/lib/errors');
const { redisCommand } = require('../../scripts/lib/resp');
const { cpuOf, rssOf, sum } = require('../lib/proc');
const { startNodes } = require('./systems');

/** After connecting, so that what is measured as memory is at rest. */
const SETTLE_MS = 1_500;
const TEXT_BYTES = 100;
/** Each of the others writes so often. */
const OTHERS_EVERY_MS = 400;
/** How long the nodes are watched while only the others write. */
const REST_MS = 2_000;

/** A process of load clients. */
class LoadClient {
  /** @param {string} name of its file, too */
  constructor(bench, name) {
    this.child = fork(path.join(__dirname, `${name}.js`), [], { execArgv: ['--max-old-space-size=4096'] });
    bench.records.add(name, this.child.pid);
    this.name = name;
    this.bench = bench;
  }

  get pid() {
    return this.child.pid;
  }

  /** Gives a command and waits for its answer. @throws {Stopped} at once when the run is asked to stop */
  async ask(command, given) {
    const { child, bench } = this;
    const settled = new AbortController();
    const answered = once(child, 'message', { signal: settled.signal }).then(([answer]) => answer);
    const ended = once(child, 'exit', { signal: settled.signal }).then(() => {
      throw new UserError('the load client ended before its time');
    });
    const stopped = once(bench.signal, 'abort', { signal: settled.signal }).then(() => bench.throwIfStopped());
    child.send({ command, given });
    try {
      return await Promise.race([answered, ended, stopped]);
    } finally {
      // What still waits is called off; its rejection is of no interest.
      for (const waiting of [answered, ended, stopped]) waiting.catch(() => undefined);
      settled.abort();
    }
  }

  async stop() {
    const gone = new Promise((resolve) => this.child.once('exit', resolve));
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill('SIGKILL');
    await gone;
    this.bench.records.remove(this.name);
  }
}

/**
 * One system, once: starts its nodes, connects everybody, warms up, measures each phase, stops. Nothing is collected
 * before the last phase: a forced collection shrinks the room for young objects, and everything costs more for a while.
 * @param {{ rssKib: number, heapKib: number }} base of the nodes without connections, as `measureRest` found it
 * @returns {Promise<object>} connecting, memory of a connection after the load in KiB, figures of each phase
 */
async function measure(bench, system, servers, base, { members, others, phases, warmUp, profile }) {
  return withNodes(bench, system, servers, async (context) => {
    const { nodes } = context;
    const cpuBefore = cpuOf(nodes.pids);
    const beganAtMs = Date.now();
    await connect(context, system, members, others);
    const connectSeconds = (Date.now() - beganAtMs) / 1000;
    const connectCpuMs = ((cpuOf(nodes.pids) - cpuBefore) * 1000) / (members + others);
    await sleep(SETTLE_MS);
    await runPhase(context, warmUp);
    const restCpuPerSecond = await restCpu(context);
    const results = [];
    for (const [index, phase] of phases.entries()) {
      bench.throwIfStopped();
      const file = profile && path.join(bench.folder, `${system.name}-${index}-node-%.cpuprofile`);
      results.push(await runPhase(context, phase, { restCpuPerSecond, profile: file }));
    }
    await sleep(SETTLE_MS);
    const loaded = each(await memoryOf(nodes), base, members + others);
    return { connectSeconds, connectCpuMs, loaded, phases: results };
  });
}

/** What a connection at rest takes, once garbage was collected. @returns that, and what the nodes take without any */
async function measureRest(bench, system, servers, { members, others }) {
  return withNodes(bench, system, servers, async (context) => {
    const base = await memoryOf(context.nodes);
    await connect(context, system, members, others);
    await sleep(SETTLE_MS);
    return { base, idle: each(await memoryOf(context.nodes), base, members + others) };
  });
}

const each = (memory, base, connections) => ({
  rssKib: (memory.rssKib - base.rssKib) / connections,
  heapKib: (memory.heapKib - base.heapKib) / connections,
});

async function withNodes(bench, system, servers, work) {
  const nodes = await startNodes(bench, system);
  const context = { nodes, servers, client: new LoadClient(bench, 'client'), others: new LoadClient(bench, 'others') };
  try {
    await sleep(SETTLE_MS);
    return await work(context);
  } finally {
    await Promise.all([context.client.stop(), context.others.stop()]);
    await nodes.stop();
  }
}

/** Memory of all nodes once their garbage was collected: resident, and what JavaScript holds. */
async function memoryOf(nodes) {
  const heaps = await nodes.probe('collect');
  const heapKib = sum(heaps.map(({ heapUsed, external }) => heapUsed + external)) / 1024;
  return { heapKib, rssKib: rssOf(nodes.pids) };
}

async function connect({ nodes, client, others }, system, memberCount, otherCount) {
  const targets = (count, token) =>
    Array.from({ length: count }, (_, index) => ({
      port: nodes.ports[index % nodes.ports.length],
      token: token(index + 1),
    }));
  const answers = [
    await client.ask('connect', {
      targets: targets(memberCount, system.memberToken),
      topic: system.topicOf(memberCount),
      textBytes: TEXT_BYTES,
    }),
    await others.ask('connect', {
      targets: targets(otherCount, system.otherToken),
      topic: system.othersTopic,
      everyMs: OTHERS_EVERY_MS,
    }),
  ];
  const failed = answers.find(({ problems }) => problems > 0);
  if (failed)
    throw new UserError(`${system.title}: ${failed.problems} connections failed; the first: ${failed.problem}`);
}

/** CPU seconds that the nodes take in a second in which only the others write: what the measured group does not cost. */
async function restCpu({ nodes, others }) {
  await others.ask('begin');
  const [before, beganMs] = [cpuOf(nodes.pids), performance.now()];
  await sleep(REST_MS);
  const perSecond = ((cpuOf(nodes.pids) - before) * 1000) / (performance.now() - beganMs);
  await others.ask('end');
  return perSecond;
}

async function runPhase({ nodes, client, others, servers }, phase, { restCpuPerSecond = 0, profile } = {}) {
  const pids = { nodes: nodes.pids, redis: [servers.redis.pid], mysql: [servers.mysql.pid], client: [client.pid] };
  const cpu = () => Object.fromEntries(Object.entries(pids).map(([name, list]) => [name, cpuOf(list)]));
  const trafficBefore = await redisTraffic(servers.redis);
  await others.ask('begin');
  await nodes.probe('begin', { profile });
  const before = cpu();
  const figures = await client.ask('phase', phase);
  const after = cpu();
  const loops = await nodes.probe('end', { profile });
  const othersFigures = await others.ask('end');
  const traffic = (await redisTraffic(servers.redis)) - trafficBefore;
  const cpuUs = (name) => ((after[name] - before[name]) * 1e6) / figures.deliveries;
  return {
    ...figures,
    ...othersFigures,
    deliveriesPerSecond: (figures.deliveries * 1000) / figures.wallMs,
    messagesPerSecond: (figures.messages * 1000) / figures.wallMs,
    cpuUs: cpuUs('nodes'),
    ownCpuUs: cpuUs('nodes') - (restCpuPerSecond * figures.wallMs * 1000) / figures.deliveries,
    redisCpuUs: cpuUs('redis'),
    mysqlCpuUs: cpuUs('mysql'),
    clientCpuUs: cpuUs('client'),
    redisKibPerMessage: traffic / 1024 / figures.messages,
    loopP99Ms: Math.max(...loops.map(({ loopP99Ms }) => loopP99Ms)),
    loopMaxMs: Math.max(...loops.map(({ loopMaxMs }) => loopMaxMs)),
  };
}

/** Bytes in and out of Redis so far. */
async function redisTraffic(redis) {
  const info = await redisCommand(redis.port, ['INFO', 'stats']);
  const value = (name) => Number(new RegExp(`${name}:(\\d+)`).exec(info)[1]);
  return value('total_net_input_bytes') + value('total_net_output_bytes');
}

module.exports = { measure, measureRest };
