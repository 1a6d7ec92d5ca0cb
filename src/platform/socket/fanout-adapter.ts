import type { Namespace } from 'socket.io';
import { MessageType, type Adapter, type BroadcastOptions, type ClusterMessage } from 'socket.io-adapter';
import type { Packet } from 'socket.io-parser';
import { RoomRounds, type Rooms, type RoundsOptions } from './room-rounds.js';
import { WirePacket } from './wire-packet.js';

/** The parts of an adapter that are used here; most are protected in its declaration. Those of a cluster may be missing. */
interface Inside {
  readonly uid?: string;
  /** What each channel's name begins with. */
  readonly channel?: string;
  readonly rooms: ReadonlyMap<string, ReadonlySet<string>>;
  readonly encoder: { encode(packet: Packet): (string | Buffer)[] };
  broadcast(packet: Packet, options: BroadcastOptions): Promise<void> | void;
  publish?(message: object): void;
  encode?(message: object): string | Uint8Array;
  onRawMessage?(raw: Buffer, channel: Buffer): void;
  onMessage?(message: ClusterMessage, offset?: string): void;
}

interface Broadcast {
  readonly uid: string;
  readonly nsp: string;
  readonly type: MessageType;
  readonly data: { packet: Packet; requestId?: string; opts: { rooms: string[]; except: string[]; flags?: Flags } };
}

type Flags = NonNullable<BroadcastOptions['flags']>;
type AdapterFactory = (namespace: Namespace) => Adapter;

/** Begins a message between nodes whose rest is the sender's id, a line feed and the packet's text. No JSON or msgpack does. */
const AS_TEXT = 0x01;
const LINE_FEED = 0x0a;

/**
 * Wraps an adapter so that this node delivers to a room only while `mayDeliver` says so, with direct frames (see
 * `RoomRounds`), and so that a packet is encoded once in the deployment: other nodes get its text. Own broadcasts go to the
 * other nodes whatever this node's gate says; their gates are their own.
 */
export function fanoutAdapter(factory: unknown, options: RoundsOptions): AdapterFactory {
  // Socket.IO calls it with `new`, which an arrow function does not take.
  return function fanout(namespace: Namespace): Adapter {
    const adapter = (factory as AdapterFactory)(namespace);
    const rounds = new RoomRounds(adapter as unknown as Rooms, options);
    sendThrough(namespace, adapter as unknown as Inside, rounds, options);
    receiveThrough(namespace, adapter as unknown as Inside, rounds, options);
    return adapter;
  };
}

function sendThrough(namespace: Namespace, adapter: Inside, rounds: RoomRounds, { mayDeliver }: RoundsOptions): void {
  const broadcast = adapter.broadcast.bind(adapter);
  const encode = adapter.encode?.bind(adapter);

  adapter.encode = (message) => {
    const { text, uid } = message as { text?: string; uid?: string };
    return text === undefined ? encode!(message) : `${String.fromCharCode(AS_TEXT)}${uid}\n${text}`;
  };
  adapter.broadcast = (packet, options) => {
    const { rooms, except, flags } = options;
    const room = onlyRoom([...rooms], except?.size ?? 0, flags);
    const isLocal = flags?.local === true || adapter.publish === undefined;
    const isHeard = room !== null && adapter.rooms.has(room);
    let text: string | null = null;
    if (room !== null && (isHeard || !isLocal)) {
      packet.nsp = namespace.name;
      const wire = WirePacket.of(packet, adapter.encoder.encode(packet));
      text = wire.text;
      // Here and now, or not at all: the adapter's own way waits for Redis first, and much can happen meanwhile.
      if (isHeard) rounds.tell(room, wire);
    } else if (room === null && [...rooms].every(mayDeliver)) {
      finishBefore(rounds, rooms);
      void broadcast(packet, { ...options, flags: { ...flags, local: true } });
    }
    if (isLocal) return;
    const opts = { rooms: [...rooms], except: [...(except ?? [])], flags };
    adapter.publish!({ type: MessageType.BROADCAST, data: { packet, opts }, ...(text === null ? {} : { text }) });
  };
}

function receiveThrough(
  namespace: Namespace,
  adapter: Inside,
  rounds: RoomRounds,
  { mayDeliver }: RoundsOptions,
): void {
  const onRawMessage = adapter.onRawMessage?.bind(adapter);
  const onMessage = adapter.onMessage?.bind(adapter);

  adapter.onRawMessage = (raw, channel) => {
    if (raw[0] !== AS_TEXT) return onRawMessage!(raw, channel);
    const end = raw.indexOf(LINE_FEED);
    const room = channel.toString().slice(adapter.channel!.length, -1);
    if (raw.toString('latin1', 1, end) === adapter.uid || !adapter.rooms.has(room)) return;
    rounds.tell(room, WirePacket.ofText(raw.toString('utf8', end + 1)));
  };
  adapter.onMessage = (message, offset) => {
    const { type, uid, nsp, data } = message as unknown as Broadcast;
    if (type !== MessageType.BROADCAST || uid === adapter.uid || nsp !== namespace.name) {
      return onMessage!(message, offset);
    }
    const { rooms, except, flags } = data.opts;
    const room = data.requestId === undefined ? onlyRoom(rooms, except.length, flags) : null;
    if (room !== null) {
      if (adapter.rooms.has(room)) rounds.tell(room, WirePacket.of(data.packet, adapter.encoder.encode(data.packet)));
    } else if (rooms.every(mayDeliver)) {
      finishBefore(rounds, rooms);
      onMessage!(message, offset);
    }
  };
}

/** The room of a broadcast to one room and to everybody in it; null for every other kind. */
function onlyRoom(rooms: readonly string[], exceptions: number, flags: Flags | undefined): string | null {
  const isPlain = flags?.volatile === undefined && flags?.compress === undefined && flags?.timeout === undefined;
  return rooms.length === 1 && exceptions === 0 && isPlain ? rooms[0] : null;
}

/** What takes the adapter's own way comes after what is under way. */
function finishBefore(rounds: RoomRounds, rooms: Iterable<string>): void {
  const named = [...rooms];
  if (named.length === 0) rounds.finishAll();
  else named.forEach((room) => rounds.finish(room));
}
