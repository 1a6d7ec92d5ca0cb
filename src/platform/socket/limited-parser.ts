import { Decoder, PacketType, type Packet } from 'socket.io-parser';
import { RawEncoder } from './raw-encoder.js';

/** A larger packet is answered PAYLOAD_TOO_LARGE; above the transport's own limit (1 MiB) the connection is closed. */
export const MAX_PACKET_BYTES = 64 * 1024;

/** Stands in for the arguments of an event whose packet was too large, so that it gets its acknowledgement. */
export const OVERSIZE = Symbol('oversize');

/** Socket.IO's decoder, which also tells the handler that an event came in too large a packet. */
class LimitedDecoder extends Decoder {
  private packetBytes = 0;

  constructor() {
    super();
    // Registered before the server's own listener, which therefore sees the changed packet.
    this.on('decoded', (packet: Packet) => {
      const isEvent = packet.type === PacketType.EVENT || packet.type === PacketType.BINARY_EVENT;
      if (isEvent && this.packetBytes > MAX_PACKET_BYTES) packet.data = [(packet.data as unknown[])[0], OVERSIZE];
    });
  }

  override add(chunk: unknown): void {
    // Attachments come as further chunks, after the packet that announced them.
    if (typeof chunk === 'string') this.packetBytes = Buffer.byteLength(chunk);
    else this.packetBytes += (chunk as { byteLength?: number } | undefined)?.byteLength ?? 0;
    super.add(chunk);
  }
}

export const limitedParser = { Encoder: RawEncoder, Decoder: LimitedDecoder };
