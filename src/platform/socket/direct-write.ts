import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Server, Socket } from 'socket.io';
import { waitingBytes, type TcpStream } from './handle-write.js';
import type { WirePacket, WriteOptions } from './wire-packet.js';

/** The parts of Engine.IO's and ws's insides that are looked at. Whatever is missing makes a socket take the normal way. */
interface WebSocketInside {
  readonly readyState?: number;
  readonly _socket?: TcpStream | null;
  readonly _sender?: { readonly _state?: number; readonly _bufferedBytes?: number };
  terminate(): void;
}
interface QueuedPacket {
  readonly data?: string | Buffer;
  readonly options?: Partial<WriteOptions>;
}
interface EngineInside {
  readonly readyState?: string;
  readonly upgrading?: boolean;
  readonly writeBuffer: QueuedPacket[];
  readonly transport: { readonly name?: string; readonly writable?: boolean; readonly socket?: WebSocketInside };
}
/** A Socket.IO socket as seen from here. */
export interface Recipient {
  readonly id: string;
  readonly client: {
    readonly conn: EngineInside;
    writeToEngine(parts: readonly (string | Buffer)[], options: WriteOptions): void;
  };
  readonly _anyOutgoingListeners?: readonly unknown[];
  notifyOutgoingListeners(packet: unknown): void;
}

const WS_OPEN = 1;
const SENDER_AT_REST = 0;

/** Of these the insides were read and are compared by the conformance test; others take the normal way. */
const TRIED: readonly (readonly [module: string, usedBy: string | null, version: RegExp])[] = [
  ['socket.io', null, /^4\.8\./],
  ['socket.io-adapter', 'socket.io', /^2\.5\./],
  ['engine.io', 'socket.io', /^6\.6\./],
  ['ws', 'engine.io', /^8\./],
];

/** What keeps frames from being written directly; null when nothing does. */
export function whyNotDirect(server: Server): string | null {
  const { engine } = server as unknown as { engine?: { opts?: { perMessageDeflate?: unknown } } };
  if (engine?.opts?.perMessageDeflate !== false) return 'perMessageDeflate is on';
  const folders = new Map<string | null, string>([[null, __dirname]]);
  for (const [name, usedBy, tried] of TRIED) {
    const { folder, version } = packageOf(name, folders.get(usedBy)!);
    if (!tried.test(version)) return `${name} ${version} was not tried`;
    folders.set(name, folder);
  }
  return null;
}

/** The package that code in `from` really loads. */
function packageOf(name: string, from: string): { folder: string; version: string } {
  for (let folder = dirname(require.resolve(name, { paths: [from] })); ; folder = dirname(folder)) {
    try {
      const own = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { name?: string; version?: string };
      if (own.name === name) return { folder, version: own.version ?? 'without a version' };
    } catch {
      if (folder === dirname(folder)) return { folder, version: 'without a package.json' };
    }
  }
}

export const inside = (socket: Socket | object): Recipient => socket as unknown as Recipient;

/**
 * The TCP stream of a socket to which a frame may be written at once without overtaking anything: open, by websocket, and
 * with nothing that waits in Engine.IO, in ws or in the stream. Null for every other: it takes the normal way.
 */
export function idleStream({ client: { conn } }: Recipient): TcpStream | null {
  const { transport } = conn;
  if (conn.readyState !== 'open' || conn.upgrading !== false || conn.writeBuffer.length !== 0) return null;
  if (transport.writable !== true || transport.name !== 'websocket') return null;
  const ws = transport.socket;
  if (ws?.readyState !== WS_OPEN || ws._sender?._state !== SENDER_AT_REST) return null;
  const stream = ws._socket;
  return stream?.writable === true && waitingBytes(stream) === 0 ? stream : null;
}

/** The normal way of one packet to one socket, as Socket.IO's own adapter takes it. */
export function writeNormally(socket: Recipient, packet: WirePacket): void {
  socket.client.writeToEngine(packet.parts, packet.options);
}

/** Is nothing on its way to the kernel? */
export function isDrained({ client: { conn } }: Recipient): boolean {
  return conn.writeBuffer.length === 0 && waitingBytes(conn.transport.socket?._socket) === 0;
}

/** Bytes that wait in this process for the client to read. */
export function unsentBytes({ client: { conn } }: Recipient): number {
  const ws = conn.transport.socket;
  let bytes = waitingBytes(ws?._socket) + (ws?._sender?._bufferedBytes ?? 0);
  for (const { data, options } of conn.writeBuffer)
    bytes += options?.wsPreEncodedFrame?.[0].length ?? data?.length ?? 0;
  return bytes;
}

/** Drops what has not been handed to the transport yet: whole packets only, so that what the client reads stays well formed. */
export function dropQueued({ client: { conn } }: Recipient): void {
  conn.writeBuffer.length = 0;
}

/** Ends the connection without waiting for the client to read. */
export function terminate({ client: { conn } }: Recipient): void {
  conn.transport.socket?.terminate();
}
