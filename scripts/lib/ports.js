'use strict';
const net = require('node:net');

function canListen(port, host) {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once('error', (error) => resolve(error.code === 'EADDRNOTAVAIL' || error.code === 'EAFNOSUPPORT'));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/** True when nothing listens on the port, neither on loopback nor on all addresses. */
async function isPortFree(port) {
  // One after the other: our own listeners would refuse each other.
  for (const host of ['127.0.0.1', '0.0.0.0', '::']) {
    if (!(await canListen(port, host))) return false;
  }
  return true;
}

// Below the range from which the kernel takes ports for outgoing connections: those could take ours while a server restarts,
// and a client that calls a silent port of that range can even be connected to itself.
const lowestPort = 20_000;
const highestPort = 29_999;

/**
 * A port for a private server.
 * @param {number} [preferred] taken when free, so that a server keeps its port from one start to the next
 * @param {(port: number) => Promise<boolean>} [suits] a further condition (a cluster needs a second port beside)
 * @returns {Promise<number>}
 */
async function choosePort(preferred, suits = async () => true) {
  if (preferred && (await isPortFree(preferred)) && (await suits(preferred))) return preferred;
  for (;;) {
    const port = lowestPort + Math.floor(Math.random() * (highestPort - lowestPort + 1));
    if ((await isPortFree(port)) && (await suits(port))) return port;
  }
}

module.exports = { isPortFree, choosePort };
