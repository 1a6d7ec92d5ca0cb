import { io, type Socket } from 'socket.io-client';
import { createBackoff } from './backoff.js';
import { createCalls } from './calls.js';
import type { Request } from './context.js';
import { isTokenError, TridentError } from './errors.js';
import type { WireEvent } from './events.js';
import type { Cancel, Runtime } from './runtime.js';
import type { DeviceKind, SessionClosing } from './wire.js';

/** `waiting`: a reconnect is planned; `closed`: nothing will happen any more. */
export type ConnectionState = 'idle' | 'connecting' | 'online' | 'waiting' | 'closed';

export interface ConnectionOptions {
  servers: readonly string[];
  deviceId?: string;
  device?: DeviceKind;
  subscribe: 'all' | 'manual';
  transports: ('websocket' | 'polling')[];
  requestTimeoutMs: number;
  heartbeatMs: number;
}

export interface ConnectionHooks {
  /** a good access token; `renew`: the server refused the last one */
  token(renew: boolean): Promise<string>;
  onState(state: ConnectionState): void;
  onReady(): void;
  onOffline(): void;
  onEvent(wire: WireEvent): void;
  /** no reconnect will help */
  onFatal(error: TridentError): void;
}

const RECONNECT_MIN_MS = 500;
const RECONNECT_MAX_MS = 30_000;
const MISSED_HEARTBEATS = 2;
const MAX_TOKEN_REFUSALS = 3;

const notConnected = (): TridentError => new TridentError('DISCONNECTED', 'not connected', true);

/**
 * One socket at a time, made anew for every attempt: socket.io's own reconnection and send buffer stay out of it, so
 * that nothing is sent twice and every session starts from `session:ready`.
 */
export const createConnection = (runtime: Runtime, options: ConnectionOptions, hooks: ConnectionHooks) => {
  const { servers, deviceId, device, subscribe, transports, requestTimeoutMs, heartbeatMs } = options;
  const backoff = createBackoff(runtime, RECONNECT_MIN_MS, RECONNECT_MAX_MS);
  const calls = createCalls(runtime, requestTimeoutMs);
  let state: ConnectionState = 'idle';
  let socket: Socket | undefined;
  let server = 0;
  /** what an older attempt still waits for must not touch a newer one */
  let attempt = 0;
  let tokenRefusals = 0;
  /** the server said when to come back */
  let planned = false;
  let reconnectTimer: Cancel | undefined;
  /** waits for `session:ready`, then for the next heartbeat */
  let lifeTimer: Cancel | undefined;

  const setState = (next: ConnectionState): void => {
    if (state === next) return;
    state = next;
    hooks.onState(next);
  };

  const request: Request = (call, payload) =>
    state === 'online' && socket?.connected ? calls.send(socket, call, payload) : Promise.reject(notConnected());

  const dropSocket = (why: string, next: ConnectionState = 'waiting'): void => {
    lifeTimer?.();
    const old = socket;
    socket = undefined;
    old?.disconnect();
    if (state === 'online') {
      setState(next);
      hooks.onOffline();
    }
    calls.failAll(why);
  };

  const drop = (why: string, next?: ConnectionState): void => {
    reconnectTimer?.();
    planned = false;
    dropSocket(why, next);
  };

  const plan = (delayMs: number): void => {
    reconnectTimer?.();
    reconnectTimer = runtime.after(delayMs, () => void connect());
  };

  const stop = (why = 'closed'): void => {
    attempt += 1;
    drop(why, 'closed');
    setState('closed');
  };

  const fatal = (error: TridentError): void => {
    stop(error.message);
    hooks.onFatal(error);
  };

  const failed = (error: TridentError): void => {
    const token = isTokenError(error);
    if (token) tokenRefusals += 1;
    if (token ? tokenRefusals >= MAX_TOKEN_REFUSALS : !error.retryable) return fatal(error);
    drop(error.message);
    // another server is as good, soon but not all clients at the same moment
    if (!token) server += 1;
    setState('waiting');
    plan(backoff.next(error.retryAfterMs));
  };

  const closing = ({ reason, reconnectAfterMs }: SessionClosing): void => {
    if (reason === 'revoked' || reason === 'tenant_disabled') {
      const code = reason === 'revoked' ? 'UNAUTHENTICATED' : 'TENANT_DISABLED';
      return fatal(new TridentError(code, `the server closed the session: ${reason}`, false));
    }
    if (reason === 'token_expired') tokenRefusals = Math.max(1, tokenRefusals);
    if (reason === 'draining') server += 1;
    // calls on their way may still be answered; the move comes when the server said, whoever closes first
    planned = true;
    plan((reconnectAfterMs || 0) * (1 + runtime.random() / 5));
  };

  const beat = (missed: number): void => {
    const mine = attempt;
    if (missed >= MISSED_HEARTBEATS) return failed(new TridentError('TIMEOUT', 'the server does not answer', true));
    if (heartbeatMs <= 0) return;
    lifeTimer = runtime.after(heartbeatMs, () => {
      // an error answer is an answer
      const alive = request('session:heartbeat', {}).catch((error: TridentError) => error.code !== 'TIMEOUT');
      void alive.then((answered) => {
        if (mine === attempt && state === 'online') beat(answered ? 0 : missed + 1);
      });
    });
  };

  const onEvent = (wire: WireEvent): void => {
    if (wire.event === 'session:ready') {
      lifeTimer?.();
      backoff.reset();
      tokenRefusals = 0;
      setState('online');
      beat(0);
      hooks.onReady();
    }
    hooks.onEvent(wire);
    if (wire.event === 'session:closing') closing(wire.payload);
  };

  const open = (token: string): void => {
    const auth = { token, deviceId, device, subscribe };
    const url = `${servers[server % servers.length]}/im`;
    const own = io(url, { auth, transports, forceNew: true, reconnection: false, timeout: requestTimeoutMs });
    socket = own;
    own.on('connect_error', (error: Error & { data?: object }) => {
      if (socket === own) failed(error.data ? TridentError.fromWire(error.data) : TridentError.from(error));
    });
    own.on('disconnect', (reason) => {
      if (socket !== own) return;
      if (planned) dropSocket(reason);
      else failed(new TridentError('DISCONNECTED', reason, true));
    });
    own.onAny((event, payload) => {
      if (socket === own) onEvent({ event, payload } as WireEvent);
    });
    lifeTimer = runtime.after(2 * requestTimeoutMs, () => failed(new TridentError('TIMEOUT', 'no session', true)));
  };

  const connect = async (): Promise<void> => {
    const mine = ++attempt;
    drop('reconnecting');
    setState('connecting');
    try {
      const token = await hooks.token(tokenRefusals > 0);
      if (mine === attempt) open(token);
    } catch (thrown) {
      if (mine === attempt) failed(TridentError.from(thrown));
    }
  };

  return {
    state: () => state,
    request,
    stop,
    start(): void {
      if (state === 'idle') void connect();
    },
    /** Ends a wait early, e.g. when the device woke up or the network is back. */
    wake(): void {
      if (state === 'waiting') void connect();
    },
  };
};
