'use strict';
const { randomBytes } = require('node:crypto');
const net = require('node:net');
const { clientFrame, readFrames } = require('./framing');

/** Stands before the number of each measured message, inside its text: `~#0000000042`. */
const MARK = Buffer.from('~#');
const DIGITS = 10;
const PONG = clientFrame('3');
const opcodes = { close: 8, ping: 9, pong: 10 };
const TWO = 0x32;
const FOUR = 0x34;

// Callbacks are synchronous, so all sockets can read into one buffer.
const readBuffer = Buffer.allocUnsafeSlow(1 << 20);

/** The text of a measured message. */
function textOf(number, padding) {
  return `${MARK.toString()}${String(number).padStart(DIGITS, '0')} ${padding}`;
}

/**
 * One Socket.IO client of the namespace `/im` over a plain TCP socket: it speaks just enough of Engine.IO and Socket.IO to
 * log in, to send and to count, so that thousands of them fit beside the server they measure.
 */
class Connection {
  /**
   * @param {{ port: number, token: string }} target
   * @param {object} listener
   * @param {(connection: Connection, number: number) => void} listener.onMessage a measured message came
   * @param {(connection: Connection, id: number, ok: boolean, text: string) => void} listener.onAck
   */
  constructor(target, listener) {
    this.target = target;
    this.listener = listener;
    /** Number of the last measured message. */
    this.last = -1;
    this.bytes = 0;
    this.isUpgraded = false;
    this.isReady = false;
    this.rest = null;
  }

  /** Resolves with null once `session:ready` came, else with what went wrong. */
  open() {
    return new Promise((resolve) => {
      this.settle = resolve;
      const onread = { buffer: readBuffer, callback: (length, buffer) => this.read(length, buffer) };
      this.socket = net.connect({ host: '127.0.0.1', port: this.target.port, onread });
      this.socket.setNoDelay(true);
      this.socket.on('connect', () => this.socket.write(upgradeRequest()));
      this.socket.on('error', (error) => resolve(error.message));
      this.socket.on('close', () => {
        this.isReady = false;
        resolve('closed');
      });
    });
  }

  emit(id, event, payload) {
    this.socket.write(clientFrame(`42/im,${id}${JSON.stringify([event, payload])}`));
  }

  read(length, shared) {
    this.bytes += length;
    const buffer = this.rest ? Buffer.concat([this.rest, shared.subarray(0, length)]) : shared.subarray(0, length);
    this.rest = null;
    let at = 0;
    if (!this.isUpgraded) {
      at = this.readUpgrade(buffer);
      if (at < 0) return true;
    }
    const body = buffer.subarray(at);
    const used = readFrames(body, body.length, (opcode, data, start, end) => this.frame(opcode, data, start, end));
    if (used < body.length) this.rest = Buffer.from(body.subarray(used));
    return true;
  }

  readUpgrade(buffer) {
    const end = buffer.indexOf('\r\n\r\n');
    if (end < 0) {
      this.rest = Buffer.from(buffer);
      return -1;
    }
    const status = buffer.latin1Slice(9, 12);
    if (status !== '101') this.fail(`the upgrade was answered ${status}`);
    this.isUpgraded = true;
    return end + 4;
  }

  frame(opcode, data, start, end) {
    if (opcode === opcodes.ping) this.socket.write(clientFrame(Buffer.from(data.subarray(start, end)), opcodes.pong));
    if (opcode >= opcodes.close) return;
    // A Socket.IO event or acknowledgement begins with 4, what else comes is Engine.IO's.
    if (data[start] !== FOUR) return this.engineFrame(data, start, end);
    if (data[start + 1] === TWO && this.isReady) return this.event(data.subarray(start, end));
    this.controlFrame(data.latin1Slice(start, end));
  }

  engineFrame(data, start, end) {
    if (data[start] === TWO) this.socket.write(PONG);
    else if (data.latin1Slice(start, start + 2) === '0{') {
      this.socket.write(clientFrame(`40/im,${JSON.stringify({ token: this.target.token })}`));
    } else this.fail(`unexpected: ${data.latin1Slice(start, Math.min(end, start + 80))}`);
  }

  /** Every message of a frame, however many it holds. */
  event(body) {
    for (let at = body.indexOf(MARK); at >= 0; at = body.indexOf(MARK, at + MARK.length + DIGITS)) {
      let number = 0;
      const first = at + MARK.length;
      for (let index = first; index < first + DIGITS; index += 1) number = number * 10 + body[index] - 48;
      this.listener.onMessage(this, number);
    }
  }

  controlFrame(text) {
    if (text.startsWith('43/im,')) {
      const [, id, answer] = /^43\/im,(\d+)\[(.*)\]$/s.exec(text);
      this.listener.onAck(this, Number(id), answer.includes('"ok":true'), answer);
    } else if (text.startsWith('42/im,["session:ready"')) {
      this.isReady = true;
      this.settle(null);
    } else if (text.startsWith('44')) this.fail(text);
  }

  fail(why) {
    this.settle(why);
    this.socket.destroy();
  }
}

function upgradeRequest() {
  const lines = [
    'GET /socket.io/?EIO=4&transport=websocket HTTP/1.1',
    'Host: 127.0.0.1',
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`,
    'Sec-WebSocket-Version: 13',
  ];
  return `${lines.join('\r\n')}\r\n\r\n`;
}

const OPEN_AT_ONCE = 64;

/** Opens them, a few at a time. @returns how many failed, and why the first one did */
async function openAll(connections) {
  const queue = [...connections];
  const problems = [];
  const opener = async () => {
    for (let connection = queue.pop(); connection; connection = queue.pop()) {
      const problem = await connection.open();
      if (problem) problems.push(problem);
    }
  };
  await Promise.all(Array.from({ length: OPEN_AT_ONCE }, opener));
  return { problems: problems.length, problem: problems[0] };
}

module.exports = { Connection, openAll, textOf };
