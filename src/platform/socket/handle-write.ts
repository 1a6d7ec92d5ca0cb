/** What is used of libuv's handle of a TCP stream; Node's own streams use the same. */
export interface TcpHandle {
  /** Bytes that the kernel has not taken yet. */
  readonly writeQueueSize: number;
  /** @returns 0, or an error of libuv; what the kernel does not take at once is written later, then `request` completes */
  writeBuffer(request: WriteRequest, data: Buffer): number;
}
interface WriteRequest {
  oncomplete?: (status: number) => void;
  /** Kept until it is written. */
  buffer?: Buffer;
}
type WriteRequestClass = new () => WriteRequest;

/** A TCP stream as `net.Socket` makes it, with its inside. */
export interface TcpStream {
  readonly writable: boolean;
  readonly writableLength: number;
  readonly _handle?: TcpHandle | null;
  write(data: Buffer): boolean;
  destroy(error?: Error): void;
}

/**
 * Writes to idle TCP streams on their handles: a stream's own write makes five objects and a tick for each, which for
 * thousands of sockets is as much garbage as work. The class of requests is learnt from the first write, which a stream
 * does itself; until it is known, and where a handle looks different, streams write as ever.
 */
export class HandleWriter {
  private requests: WriteRequestClass | null = null;
  /** Serves all writes that the kernel takes whole: nothing refers to it afterwards. */
  private spare: WriteRequest | null = null;

  /** @param stream with nothing that waits in it or below */
  write(stream: TcpStream, data: Buffer): void {
    const handle = stream._handle;
    if (this.requests === null || !handle) return this.learn(stream, data);
    const request = (this.spare ??= new this.requests());
    const error = handle.writeBuffer(request, data);
    if (error !== 0) return stream.destroy(new Error(`a write failed (${error})`));
    if (handle.writeQueueSize === 0) return;
    // Only a part was taken: the rest is on its way, and the request with it.
    this.spare = null;
    request.buffer = data;
    request.oncomplete = (status) => {
      if (status < 0) stream.destroy(new Error(`a write failed (${status})`));
    };
  }

  private learn(stream: TcpStream, data: Buffer): void {
    const handle = stream._handle as (TcpHandle & { writeBuffer?: unknown }) | null | undefined;
    if (!handle || typeof handle.writeBuffer !== 'function' || typeof handle.writeQueueSize !== 'number') {
      stream.write(data);
      return;
    }
    handle.writeBuffer = (request: WriteRequest, written: Buffer): number => {
      this.requests = request.constructor as WriteRequestClass;
      delete (handle as { writeBuffer?: unknown }).writeBuffer;
      return handle.writeBuffer(request, written);
    };
    try {
      stream.write(data);
    } finally {
      // A stream that did not write now must not find it later.
      delete (handle as { writeBuffer?: unknown }).writeBuffer;
    }
  }
}

/** Bytes that wait in a stream and below it. */
export function waitingBytes(stream: TcpStream | null | undefined): number {
  if (!stream) return 0;
  // What the stream has handed down is counted in both.
  return Math.max(stream.writableLength, stream._handle?.writeQueueSize ?? 0);
}
