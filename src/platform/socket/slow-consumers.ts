import type { Recipient } from './direct-write.js';
import { isDrained, unsentBytes } from './direct-write.js';

export interface BacklogLimits {
  /** More unsent bytes than this: realtime is dropped for the socket, and it is told when it has caught up. */
  readonly behindBytes: number;
  /** More than this: it is closed. */
  readonly tooSlowBytes: number;
  /** Packets are objects, too: so many small ones weigh more than their bytes. */
  readonly tooSlowPackets: number;
  /** A socket that is behind for so long is closed. */
  readonly behindMs: number;
}

export const BACKLOG_LIMITS: BacklogLimits = {
  behindBytes: 256 * 1024,
  tooSlowBytes: 1024 * 1024,
  tooSlowPackets: 10_000,
  behindMs: 30_000,
};
const SWEEP_MS = 250;

export interface SlowConsumerEvents {
  /** Frames are being dropped for it from now on. */
  behind(socket: Recipient): void;
  /** It has read everything that waited; it must be told that realtime was dropped. */
  caughtUp(socket: Recipient): void;
  /** It must be closed. */
  tooSlow(socket: Recipient): void;
}

/**
 * Bounds what waits in memory for clients that do not read. Frames to rooms may be dropped, since clients pull what they
 * miss; answers may not, so a socket whose answers pile up is closed.
 */
export class SlowConsumers {
  /** When each of them fell behind, ms of the monotonic clock. */
  private readonly behindSinceMs = new Map<Recipient, number>();
  private timer: NodeJS.Timeout | null = null;

  constructor(
    private readonly events: SlowConsumerEvents,
    private readonly limits: BacklogLimits = BACKLOG_LIMITS,
  ) {}

  /** Sockets for which frames are being dropped. */
  get count(): number {
    return this.behindSinceMs.size;
  }

  /** May one more frame wait for this socket? Asked for sockets that are not idle. */
  mayQueue(socket: Recipient): boolean {
    if (this.behindSinceMs.has(socket)) return false;
    if (unsentBytes(socket) <= this.limits.behindBytes) return true;
    this.fallBehind(socket);
    return false;
  }

  /** Frames of this socket were dropped, for whatever reason: it is told when nothing waits for it any more. */
  fallBehind(socket: Recipient): void {
    if (this.behindSinceMs.has(socket)) return;
    this.behindSinceMs.set(socket, performance.now());
    this.events.behind(socket);
    this.timer ??= setInterval(() => this.sweep(), SWEEP_MS).unref();
  }

  /** Looks at a socket that was just answered. */
  check(socket: Recipient): void {
    if (socket.client.conn.writeBuffer.length > 0 && this.isTooSlow(socket)) this.tooSlow(socket);
  }

  stop(): void {
    if (this.timer) clearInterval(this.timer);
    this.timer = null;
    this.behindSinceMs.clear();
  }

  private sweep(): void {
    const nowMs = performance.now();
    for (const [socket, sinceMs] of this.behindSinceMs) {
      if (socket.client.conn.readyState !== 'open') this.behindSinceMs.delete(socket);
      else if (isDrained(socket)) {
        this.behindSinceMs.delete(socket);
        this.events.caughtUp(socket);
      } else if (nowMs - sinceMs > this.limits.behindMs || this.isTooSlow(socket)) this.tooSlow(socket);
    }
    if (this.behindSinceMs.size === 0) this.stop();
  }

  private tooSlow(socket: Recipient): void {
    this.behindSinceMs.delete(socket);
    this.events.tooSlow(socket);
  }

  private isTooSlow(socket: Recipient): boolean {
    const { tooSlowPackets, tooSlowBytes } = this.limits;
    return socket.client.conn.writeBuffer.length > tooSlowPackets || unsentBytes(socket) > tooSlowBytes;
  }
}
