'use strict';
// The load client, a process of its own: all members of one group, who listen, the first of whom sends. Told what to do by
// IPC.
const { randomBytes } = require('node:crypto');
const { percentile } = require('../lib/figures');
const { Connection, openAll, textOf } = require('./connection');

/** No event is waited for longer. */
const PHASE_TIMEOUT_MS = 60_000;

let members = [];
let plan;
let nextNumber = 0;
let nextAck = 1;
let phase;
/** Send time, arrivals so far and last arrival, by number. */
const underWay = new Map();
/** Send time, by acknowledgement id. */
const waiting = new Map();

const nowMs = () => Number(process.hrtime.bigint()) / 1e6;
const padding = (length) => randomBytes(length).toString('base64').slice(0, length);

const listener = {
  onMessage(connection, number) {
    if (connection.last >= 0 && number <= connection.last) {
      phase.doubles += 1;
      return;
    }
    if (connection.last >= 0 && number !== connection.last + 1) phase.gaps += 1;
    connection.last = number;
    phase.deliveries += 1;
    const message = underWay.get(number);
    if (!message) return;
    message.arrived += 1;
    if (message.arrived < members.length) return;
    underWay.delete(number);
    phase.lastMs.push(nowMs() - message.sentMs);
    phase.onComplete();
  },
  onAck(_connection, id, ok, text) {
    const sentMs = waiting.get(id);
    waiting.delete(id);
    if (!ok) {
      phase.refused += 1;
      phase.refusal ??= text;
    } else if (sentMs !== undefined) phase.ackMs.push(nowMs() - sentMs);
  },
};

function emptyPhase() {
  const counts = { deliveries: 0, gaps: 0, doubles: 0, refused: 0, sent: 0 };
  return { ...counts, lastMs: [], ackMs: [], onComplete() {}, bytesBefore: bytesIn() };
}

const bytesIn = () => members.reduce((sum, connection) => sum + connection.bytes, 0);

async function connect(given) {
  plan = given;
  phase = emptyPhase();
  members = plan.targets.map((target) => new Connection(target, listener));
  return openAll(members);
}

function emit(connection, topic, text) {
  const id = nextAck++;
  waiting.set(id, nowMs());
  const clientMsgId = `b${process.pid}-${id}`;
  connection.emit(id, 'message:send', { topic, clientMsgId, type: 'text', content: { text } });
}

function sendMeasured() {
  const number = nextNumber++;
  phase.sent += 1;
  underWay.set(number, { sentMs: nowMs(), arrived: 0 });
  emit(members[0], plan.topic, textOf(number, padding(plan.textBytes)));
}

/**
 * Sends `count` messages, `inFlight` at a time or `perSecond`, and waits until every member has all of them.
 * @returns {Promise<object>} what was counted and measured
 */
async function runPhase({ inFlight, perSecond, count }) {
  phase = emptyPhase();
  underWay.clear();
  for (const connection of members) connection.last = nextNumber - 1;
  const beganMs = nowMs();
  const isComplete = await new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), PHASE_TIMEOUT_MS);
    phase.onComplete = () => {
      if (phase.lastMs.length === count) {
        clearTimeout(timer);
        resolve(true);
      } else if (inFlight && phase.sent < count) sendMeasured();
    };
    if (inFlight) for (let index = 0; index < Math.min(inFlight, count); index += 1) sendMeasured();
    else sendEvenly(perSecond, count, beganMs);
  });
  const wallMs = nowMs() - beganMs;
  const expected = count * members.length;
  return { ...figuresOf(phase, wallMs), isComplete, lost: expected - phase.deliveries };
}

function sendEvenly(perSecond, count, beganMs) {
  const timer = setInterval(() => {
    const due = Math.min(count, Math.floor(((nowMs() - beganMs) / 1000) * perSecond) + 1);
    while (phase.sent < due) sendMeasured();
    if (phase.sent >= count) clearInterval(timer);
  }, 1);
}

function figuresOf(counted, wallMs) {
  const sorted = (values) => [...values].sort((a, b) => a - b);
  const [last, ack] = [counted.lastMs, counted.ackMs].map(sorted);
  return {
    messages: counted.sent,
    deliveries: counted.deliveries,
    gaps: counted.gaps,
    doubles: counted.doubles,
    refused: counted.refused,
    refusal: counted.refusal,
    closed: members.filter((connection) => !connection.isReady).length,
    wallMs,
    bytesPerDelivery: (bytesIn() - counted.bytesBefore) / counted.deliveries,
    lastP50Ms: percentile(last, 0.5),
    lastP99Ms: percentile(last, 0.99),
    ackP50Ms: percentile(ack, 0.5),
    ackP99Ms: percentile(ack, 0.99),
  };
}

const commands = { connect, phase: runPhase };
process.on('message', ({ command, given }) => {
  commands[command](given).then((answer) => process.send(answer));
});
process.on('disconnect', () => process.exit(0));
