'use strict';
const { fork } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { UserError } = require('../../scripts/lib/errors');
const { redisCommand } = require('../../scripts/lib/resp');
const { cpuOf, rssOf } = require('../lib/proc');
const { startNodes } = require('./systems');

/** After connecting, so that what is measured as memory is at rest. */
const SETTLE_MS = 1_500;
const TEXT_BYTES = 100;

/** The load client's process. */
class LoadClient {
  constructor(bench) {
    this.child = fork(path.join(__dirname, 'client.js'), [], { execArgv: ['--max-old-space-size=4096'] });
    bench.records.add('load-client', this.child.pid);
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
    this.bench.records.remove('load-client');
  }
}

/**
 * One system, once: starts its nodes, connects everybody, warms up, measures each phase, stops.
 * @returns {Promise<object>} connectSeconds, memory of a connection in KiB (at rest, after the load), figures of each phase
 */
async function measure(bench, system, servers, { members, others, phases, warmUp }) {
  const nodes = await startNodes(bench, system);
  const client = new LoadClient(bench);
  try {
    await sleep(SETTLE_MS);
    const rssBefore = rssOf(nodes.pids);
    const cpuBefore = cpuOf(nodes.pids);
    const beganAtMs = Date.now();
    await connect(client, system, nodes, members, others);
    const connectSeconds = (Date.now() - beganAtMs) / 1000;
    const connectCpuMs = ((cpuOf(nodes.pids) - cpuBefore) * 1000) / (members + others);
    await sleep(SETTLE_MS);
    const idleKib = (rssOf(nodes.pids) - rssBefore) / (members + others);
    const context = { nodes, client, servers };
    await runPhase(context, warmUp);
    const results = [];
    for (const phase of phases) {
      bench.throwIfStopped();
      results.push(await runPhase(context, phase));
    }
    await sleep(SETTLE_MS);
    const loadedKib = (rssOf(nodes.pids) - rssBefore) / (members + others);
    return { connectSeconds, connectCpuMs, idleKib, loadedKib, phases: results };
  } finally {
    await client.stop();
    await nodes.stop();
  }
}

async function connect(client, system, { ports }, members, others) {
  const targets = (count, token) =>
    Array.from({ length: count }, (_, index) => ({ port: ports[index % ports.length], token: token(index + 1) }));
  const { problems, problem } = await client.ask('connect', {
    members: targets(members, system.memberToken),
    others: targets(others, system.otherToken),
    topic: system.topic,
    othersTopic: system.othersTopic,
    textBytes: TEXT_BYTES,
  });
  if (problems > 0) throw new UserError(`${system.title}: ${problems} connections failed; the first one: ${problem}`);
}

async function runPhase({ nodes, client, servers }, phase) {
  const pids = { nodes: nodes.pids, redis: [servers.redis.pid], mysql: [servers.mysql.pid], client: [client.pid] };
  const cpu = () => Object.fromEntries(Object.entries(pids).map(([name, list]) => [name, cpuOf(list)]));
  const trafficBefore = await redisTraffic(servers.redis);
  const before = cpu();
  const figures = await client.ask('phase', phase);
  const after = cpu();
  const traffic = (await redisTraffic(servers.redis)) - trafficBefore;
  const cpuUs = (name) => ((after[name] - before[name]) * 1e6) / figures.deliveries;
  return {
    ...figures,
    deliveriesPerSecond: (figures.deliveries * 1000) / figures.wallMs,
    messagesPerSecond: (figures.messages * 1000) / figures.wallMs,
    cpuUs: cpuUs('nodes'),
    redisCpuUs: cpuUs('redis'),
    mysqlCpuUs: cpuUs('mysql'),
    clientCpuUs: cpuUs('client'),
    redisKibPerMessage: traffic / 1024 / figures.messages,
  };
}

/** Bytes in and out of Redis so far. */
async function redisTraffic(redis) {
  const info = await redisCommand(redis.port, ['INFO', 'stats']);
  const value = (name) => Number(new RegExp(`${name}:(\\d+)`).exec(info)[1]);
  return value('total_net_input_bytes') + value('total_net_output_bytes');
}

module.exports = { measure };
