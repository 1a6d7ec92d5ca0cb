'use strict';
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { Child } = require('./child');
const { rotateLog, writeJson } = require('./files');
const { Supervised } = require('./supervisor');

const drainMs = 35_000; // a node tells its clients and finishes what is in flight; longer means it hangs

/**
 * GET on a local node.
 * @returns {Promise<{ status: number, body: string } | undefined>} undefined when nothing answered
 */
function get(port, route, timeoutMs = 3_000) {
  return new Promise((resolve) => {
    // No keep-alive: an idle connection of ours must not hold up a node that shuts down.
    const request = http.get({ host: '127.0.0.1', port, path: route, agent: false, timeout: timeoutMs }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (chunk) => (body += chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
      response.on('error', () => resolve(undefined));
    });
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(undefined));
  });
}

/** The node's own name for itself, from its health page. */
async function readNodeId(port) {
  const answer = await get(port, '/health/live');
  try {
    const { nodeId } = JSON.parse(answer?.body ?? '');
    return typeof nodeId === 'string' ? nodeId : null;
  } catch {
    return null;
  }
}

/**
 * One supervised node of the application.
 * @param {object} options
 * @param {number} options.index from 0
 * @param {number} options.port
 * @param {string} options.root the project folder, which has dist/main.js
 * @param {string} options.dataFolder
 * @param {NodeJS.ProcessEnv} options.env without PORT
 * @param {import('./processes').ProcessRecords} options.records
 * @returns {Supervised} `.data/run/node-<index>.json` is there while the node is ready
 */
function superviseNode({ index, port, root, dataFolder, env, records }) {
  const infoFile = path.join(dataFolder, 'run', `node-${index}.json`);
  const logFile = path.join(dataFolder, 'logs', `node-${index}.log`);
  const name = `node-${index}`;
  const launch = async ({ signal, isRestart }) => {
    rotateLog(logFile);
    const args = [path.join(root, 'dist', 'main.js')];
    const nodeEnv = { ...env, PORT: String(port) };
    const child = new Child({ name, command: process.execPath, args, cwd: root, env: nodeEnv, logFile, records });
    const isReady = async () => (await get(port, '/health/ready'))?.status === 200 && !child.hasExited;
    // A node that comes back while its servers are away is not ready for as long as they are; it is left in peace.
    await child.waitUntil(isReady, { signal, timeoutMs: isRestart ? Infinity : 120_000 });
    return {
      pid: child.pid,
      nodeId: await readNodeId(port),
      exited: child.exited,
      stop: (hurry) => child.stop(drainMs, hurry),
    };
  };
  return new Supervised({
    name: `Node ${index} on port ${port}`,
    launch,
    onUp: ({ pid, nodeId }) => writeJson(infoFile, { pid, port, nodeId }),
    onDown: () => fs.rmSync(infoFile, { force: true }),
  });
}

module.exports = { superviseNode, get };
