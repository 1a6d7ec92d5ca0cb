'use strict';
const fs = require('node:fs');

/** What `/proc/<pid>/stat` counts in. */
const ticksPerSecond = 100;

/** CPU time of a process and all its threads so far, user and system, seconds. */
function cpuSeconds(pid) {
  const stat = fs.readFileSync(`/proc/${pid}/stat`, 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

/** Resident memory of a process, KiB. */
function rssKib(pid) {
  return Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, 'latin1'))[1]);
}

const sum = (values) => values.reduce((total, value) => total + value, 0);
const cpuOf = (pids) => sum(pids.map(cpuSeconds));
const rssOf = (pids) => sum(pids.map(rssKib));

module.exports = { cpuOf, rssOf, sum };
