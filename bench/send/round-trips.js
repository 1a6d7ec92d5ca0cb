'use strict';
const { Redis } = require('ioredis');

/**
 * What clients ask of Redis while `work` runs, seen by MONITOR: commands that a script runs inside the server are not
 * round trips and are left out.
 * @param {object} redis server
 * @param {Map<string, string>} scriptNames by digest
 * @param {() => Promise<void>} work
 * @returns {Promise<Map<string, number>>} calls by command; a script counts under its own name
 */
async function countRoundTrips(redis, scriptNames, work) {
  const client = new Redis(redis.url);
  const counts = new Map();
  const monitor = await client.monitor();
  monitor.on('monitor', (_time, [command, first], source) => {
    if (source === 'lua') return;
    const name = /^eval(sha)?$/i.test(command) ? `script ${scriptNames.get(first) ?? 'of another part'}` : command;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  });
  await work();
  // The monitor is a connection of its own: what was asked before this mark has come once the mark has.
  const seen = new Promise((resolve) => {
    monitor.on('monitor', (_time, [, word]) => word === 'bench-mark' && resolve());
  });
  await client.echo('bench-mark');
  await seen;
  monitor.disconnect();
  client.disconnect();
  counts.delete('echo');
  return counts;
}

/** Statements that the server has run since it started, by kind. */
async function statementCounts(sql) {
  const rows = await sql.query(
    "SHOW GLOBAL STATUS WHERE Variable_name IN ('Com_insert', 'Com_select', 'Com_begin', 'Com_commit', 'Com_rollback', 'Com_update', 'Com_delete')",
  );
  return Object.fromEntries(rows.map((row) => [row.Variable_name.slice(4).toLowerCase(), Number(row.Value)]));
}

module.exports = { countRoundTrips, statementCounts };
