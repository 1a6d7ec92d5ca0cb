import { Decoder, Encoder, PacketType, type Packet } from 'socket.io-parser';
import { RawEncoder } from '../../../src/platform/socket/raw-encoder.js';
import { RawJson } from '../../../src/platform/wire/raw-json.js';

const OBJECT = { messages: [{ text: '魚 "\\\n' }], hasMore: false };
const raw = new RawJson(JSON.stringify(OBJECT));

describe('an answer that is JSON text', () => {
  it('is the same object to whoever writes JSON', () => {
    expect(JSON.stringify({ a: raw })).toBe(JSON.stringify({ a: OBJECT }));
    expect(JSON.stringify(raw.asOk())).toBe(JSON.stringify({ ok: true, ...OBJECT }));
  });

  it.each([
    { type: PacketType.ACK, nsp: '/im', id: 7 },
    { type: PacketType.ACK, nsp: '/im', id: 0 },
    { type: PacketType.ACK, nsp: '/', id: 123 },
  ])('makes the packet %j that the object would make', (packet) => {
    const text = new RawEncoder().encode({ ...packet, data: [raw.asOk()] } as Packet);
    expect(text).toEqual(new Encoder().encode({ ...packet, data: [{ ok: true, ...OBJECT }] } as Packet));
    const decoder = new Decoder();
    const decoded: Packet[] = [];
    decoder.on('decoded', (one: Packet) => decoded.push(one));
    decoder.add(text[0]);
    expect(decoded).toMatchObject([{ ...packet, data: [{ ok: true, ...OBJECT }] }]);
  });

  it('makes the event that the object would make', () => {
    const packet = { type: PacketType.EVENT, nsp: '/im' };
    const text = new RawEncoder().encode({ ...packet, data: ['messages', raw] } as Packet);
    expect(text).toEqual(new Encoder().encode({ ...packet, data: ['messages', OBJECT] } as Packet));
  });

  it('leaves every other packet to Socket.IO', () => {
    const packets = [
      { type: PacketType.ACK, nsp: '/im', id: 1, data: [{ ok: true }] },
      { type: PacketType.EVENT, nsp: '/im', data: ['messages', { topic: 'grp_1' }] },
      { type: PacketType.EVENT, nsp: '/im', data: ['bytes', Buffer.from('x')] },
      { type: PacketType.CONNECT, nsp: '/im', data: { sid: 'x' } },
      { type: PacketType.DISCONNECT, nsp: '/im' },
    ];
    for (const packet of packets) {
      expect(new RawEncoder().encode(packet as Packet)).toEqual(new Encoder().encode(packet as Packet));
    }
  });
});
