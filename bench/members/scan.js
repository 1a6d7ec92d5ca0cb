'use strict';
const assert = require('node:assert/strict');
const { Redis } = require('ioredis');

const part = 1000;

/** Ways to go through the uids of all members, a thousand at a time, as a push or a repair would. */
const scans = {
  mysql: 'MySQL, by the primary key',
  shards: 'sets in Redis, there already',
  filled: 'sets in Redis, filled anew after a change',
};

/**
 * The sets are the bench's own: the product keeps none (docs/adr/0027-what-is-cached-of-membership.md).
 * @param {import('./crowd').Crowd} crowd
 */
async function openScans(crowd) {
  const redis = new Redis(crowd.servers.redis.url);
  const count = Math.ceil((crowd.members.length + 1) / part);
  const keyOf = (shard) => `bench-scan:{${crowd.topic}}:${shard}`;
  const fromMysql = () => scanMysql(crowd);
  const fromShards = async () => {
    const uids = [];
    for (let shard = 0; shard < count; shard += 1) uids.push(...(await redis.smembers(keyOf(shard))));
    return uids;
  };
  const fill = async () => {
    const shards = Array.from({ length: count }, () => []);
    for (const uid of await fromMysql()) shards[Number(uid) % count].push(uid);
    await Promise.all(shards.map((uids, shard) => redis.sadd(keyOf(shard), ...uids)));
  };
  const drop = () => redis.unlink(...Array.from({ length: count }, (_, shard) => keyOf(shard)));
  const filledScan = async () => {
    await fill();
    return fromShards();
  };
  await fill();
  for (const scan of [fromMysql, fromShards]) {
    assert.equal(new Set(await scan()).size, crowd.members.length + 1);
  }
  return {
    read: { mysql: { once: fromMysql }, shards: { once: fromShards }, filled: { once: filledScan, before: drop } },
    close: () => redis.quit(),
  };
}

async function scanMysql(crowd) {
  const uids = [];
  for (let after = 0; ;) {
    const rows = await crowd.query(
      `SELECT uid FROM im_group_members WHERE group_id = ? AND uid > ? AND state = 'active' ORDER BY uid LIMIT ?`,
      [BigInt(crowd.topic.slice(4)), after, part],
    );
    for (const row of rows) uids.push(row.uid);
    if (rows.length < part) return uids;
    after = BigInt(rows.at(-1).uid);
  }
}

module.exports = { scans, openScans };
