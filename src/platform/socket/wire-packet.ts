import type { Packet } from 'socket.io-parser';

/** What Engine.IO is given with a packet; it only adds to it, so one object serves all sockets. */
export interface WriteOptions {
  readonly preEncoded: true;
  /** Whole WebSocket frame in parts; Engine.IO hands it to `ws` as it is. */
  readonly wsPreEncodedFrame?: readonly Buffer[];
}

/** Engine.IO's type of a message, before Socket.IO's packet. */
const MESSAGE = '4';
const TEXT_FRAME = 0x81;

/** One Socket.IO packet on its way to many sockets: encoded once, whichever way it takes to each of them. */
export class WirePacket {
  private constructor(
    /** Parts as Engine.IO takes them: the text, then attachments if there are any. */
    readonly parts: readonly (string | Buffer)[],
    readonly options: WriteOptions,
    /** The whole WebSocket frame; null for a packet with attachments. */
    readonly frame: Buffer | null,
    private readonly original: Packet | null,
  ) {}

  /** @param parts of `packet`, as Socket.IO's encoder made them */
  static of(packet: Packet, parts: readonly (string | Buffer)[]): WirePacket {
    const [text] = parts;
    if (parts.length !== 1 || typeof text !== 'string')
      return new WirePacket(parts, { preEncoded: true }, null, packet);
    return WirePacket.ofText(text, packet);
  }

  /** @param packet absent when it came from another node as text */
  static ofText(text: string, packet: Packet | null = null): WirePacket {
    const frame = textFrame(MESSAGE + text);
    return new WirePacket([text], { preEncoded: true, wsPreEncodedFrame: [frame] }, frame, packet);
  }

  /** What other nodes need; null for a packet with attachments. */
  get text(): string | null {
    return this.frame === null ? null : (this.parts[0] as string);
  }

  /** Bytes on the wire. */
  get bytes(): number {
    return this.frame?.length ?? this.parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0);
  }

  /** The packet itself, for listeners of what goes out. */
  get packet(): Packet {
    if (this.original) return this.original;
    const text = this.parts[0] as string;
    return { type: 2, data: JSON.parse(text.slice(text.indexOf('['))) as unknown } as unknown as Packet;
  }
}

/** A server's WebSocket text frame (RFC 6455, 5.2): whole and not masked. */
function textFrame(text: string): Buffer {
  const length = Buffer.byteLength(text);
  const head = length < 126 ? 2 : length < 65_536 ? 4 : 10;
  const frame = Buffer.allocUnsafeSlow(head + length);
  frame[0] = TEXT_FRAME;
  if (head === 2) frame[1] = length;
  else if (head === 4) {
    frame[1] = 126;
    frame.writeUInt16BE(length, 2);
  } else {
    frame[1] = 127;
    frame.writeBigUInt64BE(BigInt(length), 2);
  }
  frame.write(text, head);
  return frame;
}
