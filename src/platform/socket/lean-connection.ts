import type { Server } from 'socket.io';
import type { ClientSocket } from './socket-client.js';

type Listener = (...args: unknown[]) => void;

interface Emitter {
  listeners(event: string): Listener[];
  removeListener(event: string, listener: Listener): unknown;
}

/** The parts of a connection that outlive their use. */
interface Inside {
  handshake: object;
  readonly conn: {
    request?: unknown;
    readonly transport: { readonly name: string; readonly socket?: Emitter & { readonly _socket?: Emitter | null } };
  };
}

const NOTHING = Object.freeze({ headers: Object.freeze({}), query: Object.freeze({}), auth: Object.freeze({}) });

/** Engine.IO's, for errors before the upgrade; what it closes over is the whole request. */
const isBeforeUpgrade = (listener: Listener): boolean => listener.name === 'onUpgradeError';
/** Engine.IO's, for middleware that waits for the end of the response; it holds the request, too. */
const isOfResponse = (listener: Listener): boolean =>
  listener.name === '' && listener.toString() === '() => this.emit("close")';

/**
 * Lets go of what only the handshake needed: the HTTP request with its headers, the token. Socket.IO keeps them as long as
 * the connection, 2 KiB each. Called once a client was admitted; over long-polling the request stays.
 */
export function forgetHandshake(client: ClientSocket): void {
  const inside = client as unknown as Inside;
  inside.handshake = NOTHING;
  const { conn } = inside;
  if (conn.transport.name !== 'websocket') return;
  conn.request = undefined;
  const { socket } = conn.transport;
  if (socket) removeListeners(socket, 'error', isBeforeUpgrade);
  if (socket?._socket) removeListeners(socket._socket, 'close', isOfResponse);
}

function removeListeners(emitter: Emitter, event: string, matches: (listener: Listener) => boolean): void {
  for (const listener of emitter.listeners(event)) if (matches(listener)) emitter.removeListener(event, listener);
}

type WebSocketServerClass = new (options: object) => object;

/**
 * A connection that was closed and whose client says no farewell is cut after `closeTimeout`; ws would keep it for 30 s, as
 * long as a node may take to end. Called before the server listens: Engine.IO makes its WebSocket server then.
 */
export function cutSilentFarewells(server: Server, closeTimeout: number): void {
  const { opts } = server.engine as unknown as { opts: { wsEngine?: WebSocketServerClass } };
  const { wsEngine } = opts;
  if (!wsEngine) return;
  opts.wsEngine = class extends wsEngine {
    constructor(options: object) {
      super({ ...options, closeTimeout });
    }
  };
}
