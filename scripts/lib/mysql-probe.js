'use strict';
const net = require('node:net');

/**
 * Waits for the first packet of a MySQL server: the greeting that opens its protocol, which a server sends only once it
 * takes logins.
 * @param {number} port on 127.0.0.1
 * @returns {Promise<string | undefined>} the server's version, or undefined when no MySQL server answered
 */
function readMysqlGreeting(port, timeoutMs = 2_000) {
  return new Promise((resolve) => {
    const socket = net.connect({ host: '127.0.0.1', port });
    let received = Buffer.alloc(0);
    const finish = (version) => {
      socket.destroy();
      resolve(version);
    };
    socket.setTimeout(timeoutMs, () => finish(undefined));
    socket.on('error', () => finish(undefined));
    socket.on('close', () => finish(undefined));
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      // 3 bytes length, 1 byte sequence, then protocol version 10 and the server version up to a zero byte.
      const end = received.indexOf(0, 5);
      if (received.length > 5 && received[4] !== 10) finish(undefined);
      else if (end > 5) finish(received.toString('latin1', 5, end));
    });
  });
}

module.exports = { readMysqlGreeting };
