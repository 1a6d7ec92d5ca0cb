'use strict';
const { percentile } = require('../lib/figures');
const { cpuOf } = require('../lib/proc');

/**
 * Keeps `senders` sends under way for a while.
 * @param {(sender: number) => Promise<void>} send one message; rejects when it failed
 * @param {number} senders
 * @param {number} durationMs after it no send begins; those under way are waited for
 * @param {{ mysql: number, redis: number }} pids of the servers
 * @returns {Promise<object>} perSecond, p50Ms and p99Ms of a send, CPU time of this process and of the servers, µs a message
 */
async function drive(send, senders, durationMs, pids) {
  const times = [];
  const cpuBefore = process.cpuUsage();
  const mysqlCpuBefore = cpuOf([pids.mysql]);
  const redisCpuBefore = cpuOf([pids.redis]);
  const beganAtMs = performance.now();
  const endAtMs = beganAtMs + durationMs;
  const loop = async (sender) => {
    for (let now = performance.now(); now < endAtMs;) {
      await send(sender);
      const after = performance.now();
      times.push(after - now);
      now = after;
    }
  };
  await Promise.all(Array.from({ length: senders }, (_, sender) => loop(sender)));
  const seconds = (performance.now() - beganAtMs) / 1000;
  const cpu = process.cpuUsage(cpuBefore);
  const microseconds = (secondsNow, secondsBefore) => ((secondsNow - secondsBefore) * 1e6) / times.length;
  times.sort((a, b) => a - b);
  return {
    messages: times.length,
    perSecond: times.length / seconds,
    p50Ms: percentile(times, 0.5),
    p99Ms: percentile(times, 0.99),
    cpuUs: (cpu.user + cpu.system) / times.length,
    mysqlCpuUs: microseconds(cpuOf([pids.mysql]), mysqlCpuBefore),
    redisCpuUs: microseconds(cpuOf([pids.redis]), redisCpuBefore),
  };
}

module.exports = { drive };
