'use strict';
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { UserError } = require('./errors');
const { isPortFree } = require('./ports');
const { startRedis } = require('./redis-server');
const { redisCommand } = require('./resp');

const slots = 16_384;
const busOffset = 10_000; // the nodes of a cluster talk on port + 10000

/**
 * Starts a private Redis Cluster of three masters without replicas in `dir`, all slots served.
 * @param {{ dir: string, signal?: AbortSignal, records?: import('./processes').ProcessRecords }} options
 * @returns {Promise<{ url: string, nodes: import('./redis-server').RedisServer[], stop(): Promise<void> }>}
 *   url: `redis-cluster://host:port,host:port,host:port`
 */
async function startRedisCluster({ dir, signal, records }) {
  const nodes = [];
  const stop = async () => {
    await Promise.all(nodes.map((node) => node.stop()));
  };
  try {
    for (let index = 0; index < 3; index++) nodes.push(await startClusterNode(dir, index, { signal, records }));
    await joinNodes(nodes);
    await waitForCluster(nodes);
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: `redis-cluster://${nodes.map((node) => `127.0.0.1:${node.port}`).join(',')}`, nodes, stop };
}

function startClusterNode(dir, index, options) {
  return startRedis({
    ...options,
    dir: path.join(dir, `node-${index}`),
    name: `redis-cluster-${index}`,
    portSuits: (port) => isPortFree(port + busOffset),
    extraConfig: ['cluster-enabled yes', 'cluster-config-file nodes.conf', 'cluster-node-timeout 2000'],
  });
}

/** Gives each node its third of the slots and a number of its own, then lets the first one meet the others. */
async function joinNodes(nodes) {
  for (const [index, node] of nodes.entries()) {
    const info = String(await redisCommand(node.port, ['CLUSTER', 'INFO']));
    if (!info.includes('cluster_slots_assigned:0')) continue; // a folder that was a cluster before
    const first = Math.ceil((slots * index) / nodes.length);
    const last = Math.ceil((slots * (index + 1)) / nodes.length) - 1;
    await redisCommand(node.port, ['CLUSTER', 'ADDSLOTSRANGE', first, last]);
    await redisCommand(node.port, ['CLUSTER', 'SET-CONFIG-EPOCH', index + 1]);
  }
  for (const node of nodes.slice(1)) await redisCommand(nodes[0].port, ['CLUSTER', 'MEET', '127.0.0.1', node.port]);
}

async function waitForCluster(nodes, timeoutMs = 30_000) {
  const deadlineMs = Date.now() + timeoutMs;
  for (const node of nodes) {
    for (;;) {
      const info = String(await redisCommand(node.port, ['CLUSTER', 'INFO']));
      const isWhole = info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${nodes.length}`);
      if (isWhole && info.includes(`cluster_slots_ok:${slots}`)) break;
      if (Date.now() > deadlineMs) throw new UserError('The Redis Cluster did not form within 30 s.');
      await sleep(50);
    }
  }
}

module.exports = { startRedisCluster };
