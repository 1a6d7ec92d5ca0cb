'use strict';
const net = require('node:net');
const path = require('node:path');
const { Child } = require('../../scripts/lib/child');
const { choosePort } = require('../../scripts/lib/ports');
const { createTenant, insertGroup, insertUsers, nodeEnvironment, signToken, Sql } = require('../lib/world');

const NODES = 2;
/** Members of each of the further groups. */
const GROUP_SIZE = 100;
const STOP_GRACE_MS = 40_000;

/**
 * A system under test: two node processes and who connects to them.
 * @typedef {object} System
 * @property {string} name for files
 * @property {string} title
 * @property {(port: number) => { args: string[], env?: NodeJS.ProcessEnv }} node how to start one
 * @property {string} readyPath answers 200 once a node is ready
 * @property {(members: number) => string} topicOf the measured group of that size
 * @property {string} othersTopic
 * @property {(user: number) => string} memberToken of the user with this number, from 1
 * @property {(user: number) => string} otherToken
 */

/** Two plain Socket.IO nodes with the Redis adapter. */
const plainSocketIo = ({ redis }) => reference('plain Socket.IO + Redis adapter', 'reference-server.js', redis);

/** Two nodes of `ws` and Redis Pub/Sub. */
const rawWebSockets = ({ redis }) => reference('raw ws + Redis Pub/Sub', 'raw-server.js', redis);

function reference(title, server, redis) {
  return {
    name: path.parse(server).name,
    title,
    node: (port) => ({ args: [path.join(__dirname, server), String(port), redis.url] }),
    readyPath: '/',
    topicOf: () => 'grp_1',
    othersTopic: 'grp_2',
    memberToken: () => 'grp_1',
    otherToken: () => 'grp_2',
  };
}

/**
 * Two nodes of the product; makes its databases, users and groups.
 * @param {object} world
 * @param {number[]} world.sizes of the measured groups; the first members of the largest one are in the others, too
 * @param {number} world.others people of another group
 * @param {number} world.groups how many further groups each member is in
 */
async function product(bench, { mysql, redis }, { sizes, others, groups }) {
  const environment = (port) => nodeEnvironment({ mysql, redis, port });
  const tenant = await createTenant(bench, environment(1));
  const sql = new Sql(mysql, tenant.database);
  const largest = Math.max(...sizes);
  await insertUsers(sql, largest + others);
  const uids = Array.from({ length: largest + others }, (_, index) => index + 1);
  const othersTopic = await insertGroup(sql, 1, uids.slice(largest));
  const topics = new Map();
  for (const size of sizes) topics.set(size, await insertGroup(sql, topics.size + 2, uids.slice(0, size)));
  await insertFurtherGroups(sql, uids.slice(0, largest), groups, topics.size + 2);
  await sql.close();
  return {
    name: 'product',
    title: 'product',
    node: (port) => ({
      args: [path.join(bench.root, 'dist', 'main.js')],
      env: { PATH: process.env.PATH, ...environment(port) },
    }),
    readyPath: '/health/ready',
    topicOf: (members) => topics.get(members),
    othersTopic,
    memberToken: (user) => signToken(tenant.id, user),
    otherToken: (user) => signToken(tenant.id, largest + user),
  };
}

/** Groups of a hundred, round by round dealt out anew, so that no two have the same members. */
async function insertFurtherGroups(sql, uids, rounds, firstId) {
  let group = firstId;
  const step = Math.max(1, Math.floor(uids.length / GROUP_SIZE));
  for (let round = 0; round < rounds; round += 1) {
    const dealt = Array.from({ length: step }, () => []);
    uids.forEach((uid, index) => dealt[(index + round * Math.floor(index / step)) % step].push(uid));
    for (const members of dealt) await insertGroup(sql, group++, members);
  }
}

/**
 * Starts the system's nodes, each with a probe inside.
 * @returns {Promise<{ ports: number[], pids: number[], probe: (command: string, given?: object) => Promise<object[]>, stop: () => Promise<void> }>}
 */
async function startNodes(bench, system) {
  const nodes = [];
  const stop = async () => {
    await Promise.all(nodes.map(({ child }) => child.stop(STOP_GRACE_MS, bench.control.hurry.signal)));
  };
  try {
    for (let index = 0; index < NODES; index += 1) {
      const port = await choosePort();
      const { args, env = process.env } = system.node(port);
      const name = `node-${index}`;
      const child = new Child({
        name,
        command: process.execPath,
        args: ['--expose-gc', '--require', path.join(__dirname, 'probe.js'), ...args],
        env: { ...env, BENCH_PROBE: probeName(port) },
        logFile: path.join(bench.folder, `${name}.log`),
        records: bench.records,
      });
      nodes.push({ port, child });
      await child.waitUntil(() => answers(port, system.readyPath), { signal: bench.signal });
    }
  } catch (error) {
    await stop();
    throw error;
  }
  const ports = nodes.map(({ port }) => port);
  const probe = (command, given = {}) =>
    Promise.all(ports.map((port, index) => ask(port, { command, ...given }, index)));
  return { ports, pids: nodes.map(({ child }) => child.pid), probe, stop };
}

/** Of a socket in Linux's abstract namespace: it leaves no file behind. */
const probeName = (port) => `trident-bench-${process.pid}-${port}`;

/** @param {number} index of the node; `%` in a given file name becomes it */
function ask(port, question, index) {
  return new Promise((resolve, reject) => {
    const text = JSON.stringify(question).replace('%', String(index));
    const socket = net.connect({ path: `\0${probeName(port)}` }, () => socket.write(text));
    let answer = '';
    socket.on('data', (data) => (answer += data.toString()));
    socket.on('end', () => resolve(JSON.parse(answer)));
    socket.on('error', reject);
  });
}

async function answers(port, readyPath) {
  try {
    const response = await fetch(`http://127.0.0.1:${port}${readyPath}`, { signal: AbortSignal.timeout(2_000) });
    return response.status === 200;
  } catch {
    return false;
  }
}

module.exports = { plainSocketIo, rawWebSockets, product, insertFurtherGroups, startNodes };
