'use strict';
const assert = require('node:assert/strict');
const { median } = require('../lib/figures');
const { watched } = require('./watch');

/** Members a call; 1 000 is the most that one call takes. */
const batchSizes = [1, 100, 1000];
const singles = 100;

/**
 * Adds everybody to new groups, in batches of each size in turn; one by one only the first hundred. The group that the
 * biggest batches filled last is the one that is read afterwards.
 * @returns {Promise<object>} by batch size: members a second, time and statements of a call
 */
async function measureAdding(bench, crowd, { rounds, members }) {
  const figures = Object.fromEntries(batchSizes.map((size) => [size, []]));
  for (let round = 0; round < Math.min(rounds, 3); round += 1) {
    for (const size of batchSizes) {
      bench.throwIfStopped();
      figures[size].push(await fillGroup(crowd, size, size === 1 ? crowd.members.slice(0, singles) : crowd.members));
    }
  }
  assert.equal((await crowd.services.list.page(crowd.owner, crowd.topic, { limit: 1 })).total, members);
  return Object.fromEntries(
    batchSizes.map((size) => {
      const of = (field) => median(figures[size].map((one) => one[field]));
      return [size, { perSecond: of('perSecond'), p50Ms: of('p50Ms'), queries: of('queries'), rounds: figures[size] }];
    }),
  );
}

async function fillGroup(crowd, size, uids) {
  crowd.topic = await crowd.emptyGroup();
  const batches = [];
  for (let first = 0; first < uids.length; first += size) batches.push(uids.slice(first, first + size));
  const calls = [];
  for (const batch of batches) {
    calls.push(await watched(crowd.sql, 0, () => crowd.services.members.add(crowd.owner, crowd.topic, batch)));
  }
  const times = calls.map(({ p50Ms }) => p50Ms);
  return {
    perSecond: uids.length / (times.reduce((sum, ms) => sum + ms, 0) / 1000),
    p50Ms: median(times),
    queries: median(calls.map(({ queries }) => queries)),
  };
}

module.exports = { batchSizes, measureAdding };
