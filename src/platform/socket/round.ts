import type { Recipient } from './direct-write.js';
import type { WirePacket } from './wire-packet.js';

/** What leaves in one round, in one write per socket. */
export interface Round {
  readonly packets: readonly WirePacket[];
  /** Number of its first packet in the room's order. */
  readonly first: number;
  /** All frames in one buffer; null when one of them cannot be written directly. */
  readonly joint: Buffer | null;
  readonly members: readonly Recipient[];
  readonly beganMs: number;
  /** Left the room meanwhile; has got what it had to get. */
  readonly gone: Set<string>;
  at: number;
}

/** A large room with frames under way, or one that rests after a round while it is under load. */
export interface Busy {
  readonly queue: WirePacket[];
  queuedBytes: number;
  /** Number of the next packet that is told to the room. */
  next: number;
  /** First packet that a socket may get that joined meanwhile. */
  readonly joined: Map<string, number>;
  round: Round | null;
  /** The next round does not begin before, ms of the monotonic clock. */
  restsUntilMs: number;
}

/** All frames in one buffer; null when one of them cannot be written directly. */
export function jointFrame(packets: readonly WirePacket[]): Buffer | null {
  const frames: Buffer[] = [];
  for (const { frame } of packets) {
    if (frame === null) return null;
    frames.push(frame);
  }
  return frames.length === 1 ? frames[0] : Buffer.concat(frames);
}
