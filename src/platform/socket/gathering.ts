/** A room rests at most so many times as long as its last round took, */
const ROUNDS = 6;
/** and begins a round that often even so: where one takes as long as that, enough has gathered without a rest. */
const EVERY_MS = 120;
/** With so many packets in one write a further one saves next to nothing. */
const ENOUGH_PACKETS = 8;
const ENOUGH_BYTES = 32 * 1024;

/** A round that has just ended. */
export interface RoundOutcome {
  readonly ms: number;
  /** Packets that left in it. */
  readonly packets: number;
  /** Packets that were told to the room meanwhile. */
  readonly waiting: number;
}

/**
 * How long a large room rests after a round, to gather what leaves in the next one, in milliseconds. None while it is idle:
 * a message that meets no other one leaves at once. Under load, that is where messages came while a round was under way, a
 * write that carries four costs hardly more than one that carries one, and the event loop has room for others between.
 */
export function restAfter({ ms, packets, waiting }: RoundOutcome): number {
  const isLoaded = packets > 1 || waiting > 0;
  return isLoaded ? Math.max(0, Math.min(EVERY_MS - ms, ROUNDS * ms)) : 0;
}

/** Is what waits enough to end the rest before its time? */
export const isEnough = (packets: number, bytes: number): boolean => packets >= ENOUGH_PACKETS || bytes >= ENOUGH_BYTES;
