'use strict';
const net = require('node:net');

/** Parses one reply at `offset`; undefined while it is incomplete. */
function parseReply(buffer, offset = 0) {
  const end = buffer.indexOf('\r\n', offset);
  if (end < 0) return undefined;
  const head = buffer.toString('utf8', offset + 1, end);
  const next = end + 2;
  switch (String.fromCharCode(buffer[offset])) {
    case '+':
      return { value: head, next };
    case '-':
      return { value: new Error(head), next };
    case ':':
      return { value: Number(head), next };
    case '$': {
      const length = Number(head);
      if (length < 0) return { value: null, next };
      if (buffer.length < next + length + 2) return undefined;
      return { value: buffer.toString('utf8', next, next + length), next: next + length + 2 };
    }
    case '*':
      return parseArray(buffer, Number(head), next);
    default:
      return { value: new Error('not a Redis reply'), next: buffer.length };
  }
}

function parseArray(buffer, length, start) {
  const items = [];
  let next = start;
  for (let index = 0; index < length; index++) {
    const item = parseReply(buffer, next);
    if (!item) return undefined;
    items.push(item.value);
    next = item.next;
  }
  return { value: items, next };
}

/**
 * Sends one command to a Redis server on 127.0.0.1 over a connection of its own and returns the reply. Meant for set-up and
 * probes, before any package is installed.
 * @param {number} port
 * @param {(string | number)[]} words
 * @returns {Promise<unknown>} rejects on an error reply, a refused connection and after `timeoutMs`
 */
function redisCommand(port, words, timeoutMs = 2_000) {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ host: '127.0.0.1', port });
    let received = Buffer.alloc(0);
    const finish = (settle, value) => {
      socket.destroy();
      settle(value);
    };
    socket.setTimeout(timeoutMs, () => finish(reject, new Error('Redis did not answer in time')));
    socket.on('error', (error) => finish(reject, error));
    socket.on('close', () => finish(reject, new Error('Redis closed the connection')));
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      const reply = parseReply(received);
      if (reply) finish(reply.value instanceof Error ? reject : resolve, reply.value);
    });
    const encoded = words.map(String).map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
    socket.write(`*${words.length}\r\n${encoded.join('')}`);
  });
}

/** True when a Redis server answers there and has loaded its data. */
async function answersPing(port) {
  try {
    return (await redisCommand(port, ['PING'])) === 'PONG';
  } catch {
    return false;
  }
}

module.exports = { parseReply, redisCommand, answersPing };
