'use strict';
const { percentile } = require('../lib/figures');
const { cpuOf } = require('../lib/proc');

/**
 * Keeps `senders` sends under way for a while.
 * @param {(sender: number) => Promise<void>} send one message; rejects when it failed
 * @param {number} senders
 * @param {number} durationMs after it no send begins; those under way are waited for
 * @param {number[]} serverPids whose CPU time is told as well
 * @returns {Promise<object>} perSecond, p50Ms and p99Ms of a send, CPU of this process and of the servers in µs a message
 */
async function drive(send, senders, durationMs, serverPids = []) {
  const times = [];
  const cpuBefore = process.cpuUsage();
  const serverCpuBefore = cpuOf(serverPids);
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
  const serverCpu = cpuOf(serverPids) - serverCpuBefore;
  times.sort((a, b) => a - b);
  return {
    messages: times.length,
    perSecond: times.length / seconds,
    p50Ms: percentile(times, 0.5),
    p99Ms: percentile(times, 0.99),
    cpuUs: (cpu.user + cpu.system) / times.length,
    serverCpuUs: (serverCpu * 1e6) / times.length,
  };
}

module.exports = { drive };
