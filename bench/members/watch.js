'use strict';
const { percentile } = require('../lib/figures');

const counted = {
  queries: ['Com_insert', 'Com_select', 'Com_update', 'Com_delete'],
  rows: ['Handler_read_first', 'Handler_read_key', 'Handler_read_next', 'Handler_read_prev'],
};

/** Statements, and rows and index entries read for them, that the server has counted since it started. */
async function counters(sql) {
  const names = Object.values(counted).flat();
  const rows = await sql.query(`SHOW GLOBAL STATUS WHERE Variable_name IN ('${names.join("', '")}')`);
  const values = new Map(rows.map((row) => [row.Variable_name, Number(row.Value)]));
  const sumOf = (some) => some.reduce((sum, name) => sum + (values.get(name) ?? 0), 0);
  return { queries: sumOf(counted.queries), rows: sumOf(counted.rows) };
}

/**
 * Repeats a call for a while, one after the other.
 * @param {object} sql
 * @param {number} durationMs after it no call begins; at least one is made
 * @param {() => Promise<unknown>} once what is measured
 * @param {() => Promise<unknown>} [before] done before each call, not measured
 * @returns {Promise<object>} p50Ms and p99Ms of a call; statements and rows read, a call
 */
async function watched(sql, durationMs, once, before = async () => undefined) {
  const times = [];
  const sums = { queries: 0, rows: 0 };
  const endAtMs = performance.now() + durationMs;
  do {
    await before();
    const start = await counters(sql);
    const beganAtMs = performance.now();
    await once();
    times.push(performance.now() - beganAtMs);
    const end = await counters(sql);
    for (const name of Object.keys(sums)) sums[name] += end[name] - start[name];
  } while (performance.now() < endAtMs);
  times.sort((a, b) => a - b);
  const { queries, rows } = sums;
  const calls = times.length;
  return {
    calls,
    p50Ms: percentile(times, 0.5),
    p99Ms: percentile(times, 0.99),
    queries: queries / calls,
    rows: rows / calls,
  };
}

module.exports = { watched };
