import { Encoder, PacketType, type Packet } from 'socket.io-parser';
import { RawJson } from '../wire/raw-json.js';

/**
 * Socket.IO's encoder, which puts the text of an acknowledgement that is JSON already into the packet as it is. The bytes
 * are those that the ordinary encoder would write; without it `RawJson.toJSON` gives the same, only slower.
 */
export class RawEncoder extends Encoder {
  override encode(packet: Packet): ReturnType<Encoder['encode']> {
    const { type, data, nsp, id } = packet as { type: PacketType; data: unknown; nsp: string; id?: number };
    if (type === PacketType.ACK && Array.isArray(data) && data.length === 1 && data[0] instanceof RawJson) {
      return [`${type}${nsp && nsp !== '/' ? `${nsp},` : ''}${id ?? ''}[${data[0].text}]`];
    }
    return super.encode(packet);
  }
}
