import type { Recipient } from './direct-write.js';
import { idleStream, writeNormally } from './direct-write.js';
import { HandleWriter } from './handle-write.js';
import { isEnough, restAfter } from './gathering.js';
import { jointFrame, type Busy, type Round } from './round.js';
import type { SlowConsumers } from './slow-consumers.js';
import type { WirePacket } from './wire-packet.js';

/** Sockets that are written to before the event loop gets its turn. */
const SLICE_SOCKETS = 500;
/** Or as long as that, when the writes are large. */
const SLICE_MS = 8;
const CLOCK_EVERY = 64;
/** Frames of a room that leave in one write, at most. */
const ROUND_BYTES = 256 * 1024;
/** More that waits for a room: it is dropped, and its members are told to ask. */
const QUEUE_BYTES = 4 * 1024 * 1024;
/** Larger rooms keep their members as an array between two broadcasts; it ends with the next join or leave. */
const KEPT_MEMBERS = 32;

/** The rooms of a Socket.IO adapter, and its events. */
export interface Rooms {
  readonly rooms: ReadonlyMap<string, ReadonlySet<string>>;
  readonly nsp: { readonly sockets: ReadonlyMap<string, unknown> };
  on(event: 'join-room' | 'leave-room', listener: (room: string, id: string) => void): unknown;
}

export interface RoundsOptions {
  /** False: every frame takes the normal way. */
  readonly direct: boolean;
  readonly slow: SlowConsumers;
  /** Asked before each slice. */
  readonly mayDeliver: (room: string) => boolean;
  /** A round of a large room has ended. */
  readonly onRound?: (seconds: number, members: number) => void;
  readonly onWrites?: (counts: WriteCounts) => void;
  readonly sliceSockets?: number;
}

export interface WriteCounts {
  readonly direct: number;
  readonly normal: number;
  readonly dropped: number;
}

/**
 * Delivers to this node's sockets of a room, each getting exactly what was told while it was in the room, in order, as
 * Socket.IO's own adapter does it; but with one write of one prepared frame to every socket that is idle, in slices that
 * let the event loop turn, and with all that came meanwhile in one write with the next round. A room under load rests
 * between its rounds, so that more leaves together (see `restAfter`).
 */
export class RoomRounds {
  private readonly busy = new Map<string, Busy>();
  private readonly kept = new Map<string, readonly Recipient[]>();
  private readonly sliceSockets: number;
  private readonly writer = new HandleWriter();
  private pumping = false;
  private waking: NodeJS.Timeout | null = null;
  private counts = { direct: 0, normal: 0, dropped: 0 };

  constructor(
    private readonly rooms: Rooms,
    private readonly options: RoundsOptions,
  ) {
    this.sliceSockets = options.sliceSockets ?? SLICE_SOCKETS;
    rooms.on('join-room', (room, id) => this.joined(room, id));
    rooms.on('leave-room', (room, id) => this.left(room, id));
  }

  /** Tells a packet to a room. A small one has it when this returns, a large one in slices from the next turn on. */
  tell(room: string, packet: WirePacket): void {
    const busy = this.busy.get(room);
    if (busy) return this.enqueue(room, busy, packet);
    const members = this.membersOf(room);
    if (members.length === 0 || !this.options.mayDeliver(room)) return;
    if (members.length <= this.sliceSockets) {
      for (const member of members) this.write(member, [packet], packet.frame);
      return this.report();
    }
    const fresh: Busy = { queue: [], queuedBytes: 0, next: 0, joined: new Map(), round: null, restsUntilMs: 0 };
    this.busy.set(room, fresh);
    this.enqueue(room, fresh, packet);
    this.pumpSoon();
  }

  /** Writes at once all that is under way to a room, so that something else can follow it in order. */
  finish(room: string): void {
    const busy = this.busy.get(room);
    while (busy && this.busy.get(room) === busy) this.step(room, busy, Infinity);
  }

  finishAll(): void {
    for (const room of [...this.busy.keys()]) this.finish(room);
  }

  private enqueue(room: string, busy: Busy, packet: WirePacket): void {
    busy.queue.push(packet);
    busy.queuedBytes += packet.bytes;
    busy.next += 1;
    if (busy.restsUntilMs > 0 && isEnough(busy.queue.length, busy.queuedBytes)) {
      busy.restsUntilMs = 0;
      this.pumpSoon();
    }
    if (busy.queuedBytes <= QUEUE_BYTES) return;
    // More is told than can be delivered: nobody waits for what is old by now.
    for (const member of this.membersOf(room)) this.options.slow.fallBehind(member);
    this.counts.dropped += busy.queue.length;
    busy.queue.length = 0;
    busy.queuedBytes = 0;
  }

  private pumpSoon(): void {
    if (this.pumping) return;
    this.pumping = true;
    setImmediate(() => this.pump());
  }

  /** One slice: the rooms take turns. */
  private pump(): void {
    this.pumping = false;
    let budget = this.sliceSockets;
    const beganMs = performance.now();
    for (const [room, busy] of this.busy) {
      if (budget <= 0 || performance.now() - beganMs > SLICE_MS) break;
      if (busy.restsUntilMs > beganMs) continue;
      budget -= this.step(room, busy, budget);
      // To the end of the order, for the next turn.
      if (this.busy.delete(room) && (busy.round !== null || busy.queue.length > 0 || busy.restsUntilMs > 0)) {
        this.busy.set(room, busy);
      }
    }
    this.report();
    this.goOn();
  }

  /** The next slice: in the next turn, or when the first room has rested. */
  private goOn(): void {
    if (this.waking) clearTimeout(this.waking);
    this.waking = null;
    let soonestMs = Infinity;
    for (const { restsUntilMs } of this.busy.values()) soonestMs = Math.min(soonestMs, restsUntilMs);
    const inMs = soonestMs - performance.now();
    if (inMs <= 0) this.pumpSoon();
    else if (soonestMs !== Infinity) this.waking = setTimeout(() => this.pumpSoon(), inMs);
  }

  /** Goes on with a room's round, or begins the next. @returns how many sockets were written to */
  private step(room: string, busy: Busy, limit: number): number {
    if (!this.options.mayDeliver(room)) {
      // Whoever shuts the gate has its sockets told to ask when it opens again.
      this.busy.delete(room);
      return 0;
    }
    busy.restsUntilMs = 0;
    if (busy.round === null && busy.queue.length === 0) {
      this.busy.delete(room);
      return 0;
    }
    const round = (busy.round ??= this.nextRound(room, busy));
    const beganMs = performance.now();
    const from = round.at;
    while (round.at < round.members.length && round.at - from < limit) {
      const member = round.members[round.at];
      round.at += 1;
      if (!round.gone.has(member.id)) this.writeRound(busy, round, member);
      const isTime = (round.at - from) % CLOCK_EVERY === 0 && limit !== Infinity;
      if (isTime && performance.now() - beganMs > SLICE_MS) break;
    }
    if (round.at >= round.members.length) this.endRound(room, busy, round);
    return round.at - from;
  }

  private endRound(room: string, busy: Busy, round: Round): void {
    busy.round = null;
    const nowMs = performance.now();
    const ms = nowMs - round.beganMs;
    this.options.onRound?.(ms / 1000, round.members.length);
    const { queue, queuedBytes } = busy;
    const restMs = restAfter({ ms, packets: round.packets.length, waiting: queue.length });
    if (restMs > 0 && !isEnough(queue.length, queuedBytes)) busy.restsUntilMs = nowMs + restMs;
    else if (queue.length === 0) this.busy.delete(room);
  }

  private nextRound(room: string, busy: Busy): Round {
    let bytes = 0;
    let count = 0;
    while (count < busy.queue.length && (count === 0 || bytes + busy.queue[count].bytes <= ROUND_BYTES)) {
      bytes += busy.queue[count].bytes;
      count += 1;
    }
    const first = busy.next - busy.queue.length;
    const packets = busy.queue.splice(0, count);
    busy.queuedBytes -= bytes;
    for (const [id, from] of busy.joined) if (from <= first) busy.joined.delete(id);
    return {
      packets,
      first,
      joint: jointFrame(packets),
      members: this.membersOf(room),
      beganMs: performance.now(),
      gone: new Set(),
      at: 0,
    };
  }

  private writeRound(busy: Busy, round: Round, member: Recipient): void {
    const from = busy.joined.size === 0 ? undefined : busy.joined.get(member.id);
    if (from === undefined || from <= round.first) return this.write(member, round.packets, round.joint);
    const packets = round.packets.slice(from - round.first);
    if (packets.length > 0) this.write(member, packets, jointFrame(packets));
  }

  private write(member: Recipient, packets: readonly WirePacket[], joint: Buffer | null): void {
    const hasListeners = (member._anyOutgoingListeners?.length ?? 0) > 0;
    if (hasListeners) for (const packet of packets) member.notifyOutgoingListeners(packet.packet);
    const stream = this.options.direct && joint !== null ? idleStream(member) : null;
    if (stream) {
      // A short write is finished by libuv; until then the socket is not idle.
      this.writer.write(stream, joint!);
      this.counts.direct += 1;
    } else if (this.options.slow.mayQueue(member)) {
      for (const packet of packets) writeNormally(member, packet);
      this.counts.normal += 1;
    } else this.counts.dropped += 1;
  }

  private membersOf(room: string): readonly Recipient[] {
    const kept = this.kept.get(room);
    if (kept) return kept;
    const ids = this.rooms.rooms.get(room);
    if (!ids) return [];
    const members: Recipient[] = [];
    for (const id of ids) {
      const socket = this.rooms.nsp.sockets.get(id) as Recipient | undefined;
      if (socket) members.push(socket);
    }
    if (members.length >= KEPT_MEMBERS) this.kept.set(room, members);
    return members;
  }

  private joined(room: string, id: string): void {
    this.kept.delete(room);
    const busy = this.busy.get(room);
    if (busy) busy.joined.set(id, busy.next);
  }

  /** What was told before it left is written before this returns, and nothing afterwards. */
  private left(room: string, id: string): void {
    this.kept.delete(room);
    const busy = this.busy.get(room);
    if (!busy) return;
    const member = this.rooms.nsp.sockets.get(id) as Recipient | undefined;
    if (member && this.options.mayDeliver(room)) {
      this.restOfRound(busy, member);
      const queued = busy.queue.slice(Math.max(0, (busy.joined.get(id) ?? 0) - (busy.next - busy.queue.length)));
      if (queued.length > 0) this.write(member, queued, jointFrame(queued));
    }
    busy.joined.delete(id);
    busy.round?.gone.add(id);
  }

  private restOfRound(busy: Busy, member: Recipient): void {
    const { round } = busy;
    if (!round || round.gone.has(member.id)) return;
    if (round.members.indexOf(member, round.at) >= 0) this.writeRound(busy, round, member);
  }

  private report(): void {
    const { counts } = this;
    if (counts.direct + counts.normal + counts.dropped === 0) return;
    this.counts = { direct: 0, normal: 0, dropped: 0 };
    this.options.onWrites?.(counts);
  }
}
