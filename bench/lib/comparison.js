'use strict';

/** Options of every bench that compares two sides on MariaDB and on MySQL 9.7. */
const options = {
  quick: { type: 'boolean', default: false },
  rounds: { type: 'string' },
  seconds: { type: 'string' },
  mysql97: { type: 'boolean', default: false },
  'no-mysql97': { type: 'boolean', default: false },
};

/**
 * @param {object} values of the options
 * @param {{ quick: number, full: number }} seconds of one side of a round, where none are asked for
 */
function readPlan(values, seconds) {
  return {
    rounds: Number(values.rounds ?? (values.quick ? 3 : 9)),
    durationMs: Number(values.seconds ?? (values.quick ? seconds.quick : seconds.full)) * 1000,
  };
}

/**
 * Runs a comparison on one server after the other, beside one Redis.
 * @template T
 * @param {import('./bench-run').BenchRun} bench
 * @param {object} values of the options
 * @param {(servers: { mysql: object, redis: object }) => Promise<T>} measure
 * @returns {Promise<T[]>}
 */
async function onEachServer(bench, values, measure) {
  const redis = await bench.startRedis();
  const servers = [await bench.startMysql()];
  if (!values['no-mysql97']) servers.push(await bench.startMysql97(values.mysql97));
  const results = [];
  for (const mysql of servers.filter(Boolean)) results.push(await measure({ mysql, redis }));
  return results;
}

module.exports = { options, readPlan, onEachServer };
