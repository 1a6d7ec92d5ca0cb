'use strict';
// People of another group, in a process of their own: they write all the time, and how long their acknowledgements take
// tells how much a busy group disturbs the others. Told what to do by IPC.
const { percentile } = require('../lib/figures');
const { Connection, openAll } = require('./connection');

let connections = [];
let topic;
let everyMs;
let nextAck = 1;
let ackMs = [];
let refused = 0;
/** When each was sent, by acknowledgement id. */
const waiting = new Map();
let timers = [];

const nowMs = () => performance.now();

const listener = {
  onMessage() {},
  onAck(_connection, id, ok) {
    const sentMs = waiting.get(id);
    waiting.delete(id);
    if (!ok) refused += 1;
    else if (sentMs !== undefined) ackMs.push(nowMs() - sentMs);
  },
};

function send(connection) {
  const id = nextAck++;
  waiting.set(id, nowMs());
  const clientMsgId = `o${process.pid}-${id}`;
  connection.emit(id, 'message:send', { topic, clientMsgId, type: 'text', content: { text: `other ${id}` } });
}

const commands = {
  async connect(given) {
    ({ topic, everyMs } = given);
    connections = given.targets.map((target) => new Connection(target, listener));
    return openAll(connections);
  },
  /** From now on everybody writes. */
  async begin() {
    ackMs = [];
    refused = 0;
    waiting.clear();
    timers = connections.map((connection) => setInterval(send, everyMs, connection));
    return {};
  },
  async end() {
    timers.forEach(clearInterval);
    const sorted = ackMs.sort((a, b) => a - b);
    return {
      othersAckP50Ms: percentile(sorted, 0.5),
      othersAckP99Ms: percentile(sorted, 0.99),
      othersRefused: refused,
    };
  },
};

process.on('message', ({ command, given }) => {
  commands[command](given).then((answer) => process.send(answer));
});
process.on('disconnect', () => process.exit(0));
