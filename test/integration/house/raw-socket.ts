import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { until } from '../../support/until.js';

const TEXT = 1;
const BINARY = 2;
const CLOSE = 8;

/** A websocket that says whatever it is told, also what no library would. It reads whole text frames only. */
export class RawSocket {
  /** Engine.IO packets as they came. */
  readonly packets: string[] = [];
  closed = false;
  private buffer = Buffer.alloc(0);

  private constructor(private readonly tcp: Socket) {}

  static async open(url: string): Promise<RawSocket> {
    const { hostname, port } = new URL(url);
    const tcp = connect(Number(port), hostname);
    const raw = new RawSocket(tcp);
    tcp.on('error', () => undefined);
    tcp.on('close', () => (raw.closed = true));
    tcp.write(
      `GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: ${hostname}:${port}\r\nUpgrade: websocket\r\n` +
        `Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n` +
        `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\n\r\n`,
    );
    tcp.on('data', (chunk) => raw.read(chunk));
    await until('the transport is open', () => raw.packets.some((packet) => packet.startsWith('0')));
    return raw;
  }

  /** Joins the namespace as a client would. */
  async join(token: string): Promise<void> {
    this.text(`40/im,${JSON.stringify({ token })}`);
    await until('session:ready', () => this.packets.some((packet) => packet.includes('session:ready')));
  }

  text(packet: string): void {
    this.frame(TEXT, Buffer.from(packet));
  }

  binary(data: Buffer): void {
    this.frame(BINARY, data);
  }

  /** @param claimed length that the header says, when it is not the truth */
  frame(opcode: number, data: Buffer, claimed: number | bigint = data.length): void {
    const mask = randomBytes(4);
    const masked = Buffer.from(data.map((byte, index) => byte ^ mask[index % 4]));
    this.bytes(Buffer.concat([header(opcode, BigInt(claimed)), mask, masked]));
  }

  bytes(data: Buffer): void {
    if (!this.closed) this.tcp.write(data);
  }

  /** Waits until the server has either answered a heartbeat or closed this socket: nothing may hang in between. */
  async settled(): Promise<'answers' | 'closed'> {
    const id = 1 + Math.floor(Math.random() * 1e9);
    this.text(`42/im,${id}["session:heartbeat",{}]`);
    return until('the socket answers or is closed', () => {
      if (this.closed) return 'closed';
      return this.packets.some((packet) => packet.startsWith(`43/im,${id}[`)) ? 'answers' : null;
    });
  }

  /** Reads nothing more: what is sent to it waits, first in the kernel, then in the server. */
  pause(): void {
    this.tcp.pause();
  }

  resume(): void {
    this.tcp.resume();
  }

  destroy(): void {
    this.tcp.destroy();
  }

  private read(chunk: Buffer): void {
    this.buffer = Buffer.concat([this.buffer, chunk]);
    const head = this.buffer.indexOf('\r\n\r\n');
    if (this.buffer.subarray(0, 4).toString() === 'HTTP') {
      if (head < 0) return;
      this.buffer = this.buffer.subarray(head + 4);
    }
    for (let frame = firstFrame(this.buffer); frame; frame = firstFrame(this.buffer)) {
      if (frame.opcode === TEXT) this.packets.push(frame.data.toString());
      // A server that closes waits for the other side's farewell, which never comes from here.
      if (frame.opcode === CLOSE) this.closed = true;
      this.buffer = this.buffer.subarray(frame.size);
    }
  }
}

function header(opcode: number, length: bigint): Buffer {
  const first = 0x80 | opcode;
  if (length < 126n) return Buffer.from([first, 0x80 | Number(length)]);
  const long = Buffer.alloc(length < 65536n ? 4 : 10);
  long[0] = first;
  if (length < 65536n) {
    long[1] = 0x80 | 126;
    long.writeUInt16BE(Number(length), 2);
  } else {
    long[1] = 0x80 | 127;
    long.writeBigUInt64BE(length, 2);
  }
  return long;
}

/** A server's frame: not masked, and here never above 64 KiB. */
function firstFrame(buffer: Buffer): { opcode: number; data: Buffer; size: number } | null {
  if (buffer.length < 2) return null;
  const short = buffer[1] & 0x7f;
  const start = short === 126 ? 4 : 2;
  if (buffer.length < start) return null;
  const length = short === 126 ? buffer.readUInt16BE(2) : short;
  if (buffer.length < start + length) return null;
  return { opcode: buffer[0] & 0x0f, data: buffer.subarray(start, start + length), size: start + length };
}
