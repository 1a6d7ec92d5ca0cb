import { Encoder, PacketType, type Packet } from 'socket.io-parser';
import { RawJson } from '../wire/raw-json.js';

/**
 * Socket.IO's encoder, which puts the text of an acknowledgement or of an event's payload that is JSON already into the
 * packet as it is. The bytes are those that the ordinary encoder would write; without it `RawJson.toJSON` gives the same,
 * only slower.
 */
export class RawEncoder extends Encoder {
  override encode(packet: Packet): ReturnType<Encoder['encode']> {
    const { type, data, nsp, id } = packet as { type: PacketType; data: unknown; nsp: string; id?: number };
    if (!Array.isArray(data)) return super.encode(packet);
    const [first, second] = data as unknown[];
    const head = (): string => `${type}${nsp && nsp !== '/' ? `${nsp},` : ''}${id ?? ''}`;
    if (type === PacketType.ACK && data.length === 1 && first instanceof RawJson) return [`${head()}[${first.text}]`];
    if (type === PacketType.EVENT && data.length === 2 && second instanceof RawJson) {
      return [`${head()}[${JSON.stringify(first)},${second.text}]`];
    }
    return super.encode(packet);
  }
}
