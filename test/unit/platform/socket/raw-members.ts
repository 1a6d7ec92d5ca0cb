import { createServer, type Server as HttpServer } from 'node:http';
import { connect, type AddressInfo, type Socket as Tcp } from 'node:net';
import { Server, type Socket } from 'socket.io';
import { until } from '../../../support/until.js';

const MASK = Buffer.alloc(4);

/** A client on a bare TCP connection that keeps every frame as the bytes that came. */
export class RawMember {
  readonly frames: Buffer[] = [];
  /** Its other end. */
  socket!: Socket;
  private buffer = Buffer.alloc(0);
  private upgraded = false;

  private constructor(readonly tcp: Tcp) {}

  static async join(stage: SocketStage): Promise<RawMember> {
    const tcp = connect(stage.port, '127.0.0.1');
    const member = new RawMember(tcp);
    tcp.on('error', () => undefined);
    tcp.on('data', (chunk) => member.read(chunk));
    tcp.write(
      'GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n' +
        'Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n',
    );
    await until('the transport is open', () => member.frames.length > 0);
    const joined = new Promise<Socket>((resolve) => stage.io.once('connection', resolve));
    member.say('40');
    member.socket = await joined;
    await until('the namespace is open', () => member.frames.length > 1);
    return member;
  }

  /** Texts of the events that came, in order; with the head of each frame, so that equal means equal on the wire. */
  get events(): string[] {
    return this.frames.map((frame) => frame.toString('latin1')).filter((text) => /^.{2,10}?4(2|51-)\[/s.test(text));
  }

  say(text: string): void {
    const data = Buffer.from(text);
    this.tcp.write(Buffer.concat([Buffer.from([0x81, 0x80 | data.length]), MASK, data]));
  }

  private read(chunk: Buffer): void {
    this.buffer = Buffer.concat([this.buffer, chunk]);
    if (!this.upgraded) {
      const end = this.buffer.indexOf('\r\n\r\n');
      if (end < 0) return;
      this.upgraded = true;
      this.buffer = this.buffer.subarray(end + 4);
    }
    for (let size = frameSize(this.buffer); size > 0 && this.buffer.length >= size; size = frameSize(this.buffer)) {
      this.frames.push(Buffer.from(this.buffer.subarray(0, size)));
      this.buffer = this.buffer.subarray(size);
    }
  }
}

/** 0 while that cannot be known yet. */
function frameSize(buffer: Buffer): number {
  if (buffer.length < 2) return 0;
  const short = buffer[1] & 0x7f;
  if (short < 126) return 2 + short;
  if (short === 126) return buffer.length < 4 ? 0 : 4 + buffer.readUInt16BE(2);
  return buffer.length < 10 ? 0 : 10 + Number(buffer.readBigUInt64BE(2));
}

/** A Socket.IO server with one adapter. */
export class SocketStage {
  private constructor(
    readonly io: Server,
    private readonly http: HttpServer,
  ) {}

  static async open(adapter?: unknown, options: object = {}): Promise<SocketStage> {
    const http = createServer();
    const io = new Server(http, { serveClient: false, perMessageDeflate: false, ...options });
    if (adapter) io.adapter(adapter as never);
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    return new SocketStage(io, http);
  }

  get port(): number {
    return (this.http.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    this.io.disconnectSockets(true);
    await this.io.close();
  }
}

export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
