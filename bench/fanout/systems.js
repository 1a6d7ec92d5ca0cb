'use strict';
const path = require('node:path');
const { Child } = require('../../scripts/lib/child');
const { choosePort } = require('../../scripts/lib/ports');
const { createTenant, insertGroup, insertUsers, nodeEnvironment, signToken, Sql } = require('../lib/world');

const NODES = 2;
const STOP_GRACE_MS = 40_000;

/**
 * A system under test: two node processes and who connects to them.
 * @typedef {object} System
 * @property {string} title
 * @property {(port: number) => { args: string[], env?: NodeJS.ProcessEnv }} node how to start one
 * @property {string} readyPath answers 200 once a node is ready
 * @property {string} topic
 * @property {string} othersTopic
 * @property {(user: number) => string} memberToken of the user with this number, from 1
 * @property {(user: number) => string} otherToken
 */

/** Two plain Socket.IO nodes with the Redis adapter. */
function plainSocketIo({ redis }) {
  return {
    title: 'plain Socket.IO + Redis adapter',
    node: (port) => ({ args: [path.join(__dirname, 'reference-server.js'), String(port), redis.url] }),
    readyPath: '/',
    topic: 'grp_1',
    othersTopic: 'grp_2',
    memberToken: () => 'grp_1',
    otherToken: () => 'grp_2',
  };
}

/** Two nodes of the product; makes its databases, users and groups. */
async function product(bench, { mysql, redis }, members, others) {
  const environment = (port) => nodeEnvironment({ mysql, redis, port });
  const tenant = await createTenant(bench, environment(1));
  const sql = new Sql(mysql, tenant.database);
  await insertUsers(sql, members + others);
  const uids = Array.from({ length: members + others }, (_, index) => index + 1);
  const topic = await insertGroup(sql, 1, uids.slice(0, members));
  const othersTopic = await insertGroup(sql, 2, uids.slice(members));
  await sql.close();
  return {
    title: 'product',
    node: (port) => ({
      args: [path.join(bench.root, 'dist', 'main.js')],
      env: { PATH: process.env.PATH, ...environment(port) },
    }),
    readyPath: '/health/ready',
    topic,
    othersTopic,
    memberToken: (user) => signToken(tenant.id, user),
    otherToken: (user) => signToken(tenant.id, members + user),
  };
}

/** Starts the system's nodes. @returns {Promise<{ ports: number[], pids: number[], stop: () => Promise<void> }>} */
async function startNodes(bench, system) {
  const nodes = [];
  const stop = async () => {
    await Promise.all(nodes.map(({ child }) => child.stop(STOP_GRACE_MS, bench.control.hurry.signal)));
  };
  try {
    for (let index = 0; index < NODES; index += 1) {
      const port = await choosePort();
      const { args, env } = system.node(port);
      const name = `node-${index}`;
      const logFile = path.join(bench.folder, `${name}.log`);
      const child = new Child({ name, command: process.execPath, args, env, logFile, records: bench.records });
      nodes.push({ port, child });
      await child.waitUntil(() => answers(port, system.readyPath), { signal: bench.signal });
    }
  } catch (error) {
    await stop();
    throw error;
  }
  return { ports: nodes.map(({ port }) => port), pids: nodes.map(({ child }) => child.pid), stop };
}

async function answers(port, readyPath) {
  try {
    const response = await fetch(`http://127.0.0.1:${port}${readyPath}`, { signal: AbortSignal.timeout(2_000) });
    return response.status === 200;
  } catch {
    return false;
  }
}

module.exports = { plainSocketIo, product, startNodes };
