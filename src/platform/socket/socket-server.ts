import { randomUUID } from 'node:crypto';
import type { Server as HttpServer } from 'node:http';
import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { createShardedAdapter } from '@socket.io/redis-adapter';
import { Server, type Namespace } from 'socket.io';
import { ENV, type Env } from '../env/env.js';
import { AppError } from '../errors/app-error.js';
import { Logger } from '../observe/logger.js';
import { Metrics } from '../observe/metrics.js';
import { Readiness } from '../observe/readiness.js';
import { DeafnessProbe } from '../redis/deafness-probe.js';
import { RedisClients } from '../redis/redis-clients.js';
import type { RawJson } from '../wire/raw-json.js';
import { dropQueued, inside, terminate, whyNotDirect, type Recipient } from './direct-write.js';
import { fanoutAdapter } from './fanout-adapter.js';
import { FanoutMeter } from './fanout-meter.js';
import type { ServerEventName, ServerEvents } from './events.js';
import { cutSilentFarewells } from './lean-connection.js';
import { limitedParser } from './limited-parser.js';
import { PubSubGuard } from './pubsub-guard.js';
import { SlowConsumers } from './slow-consumers.js';
import type { ClientSocket } from './socket-client.js';

/** Above it the transport closes the connection. */
const MAX_TRANSPORT_BYTES = 1024 * 1024;
const NAMESPACE = '/im';
/** A client that was told of the end of its connection answers within this time, or is cut off. */
const FAREWELL_MS = 5_000;
/** Connections that are closed with the node are given this time to say farewell. */
const CLOSE_GRACE_MS = 1_000;
/** While Redis is away a subscription waits for it; nobody's answer does. */
const SUBSCRIBE_WAIT_MS = 2_500;

/** An error that Socket.IO hands to the client as `connect_error` with `data`. */
export function handshakeError(error: AppError): Error {
  return Object.assign(new Error(error.message), { data: error.toBody() });
}

/** What is done about clients that do not read what they get. */
export interface SlowListeners {
  /** Realtime was dropped for it; now nothing waits for it any more. */
  caughtUp(client: ClientSocket): void;
  /** Too much waits for it, or for too long: it must be closed. */
  tooSlow(client: ClientSocket): void;
}

export interface EndOptions {
  readonly graceMs: number;
  readonly dropQueued?: boolean;
  /** The connection stays open for so long after the word: what the client sent before it heard it is answered. */
  readonly lingerMs?: number;
}

const clientOf = (socket: Recipient): ClientSocket => socket as unknown as ClientSocket;

/** The node's Socket.IO server and the one emitter: whatever goes to clients goes through here. */
@Injectable()
export class SocketServer implements OnApplicationBootstrap {
  private server?: Server;
  private guard?: PubSubGuard;
  private probe?: DeafnessProbe;
  private readonly gapListeners: (() => void)[] = [];
  private readonly publishLostListeners: (() => void)[] = [];
  private readonly failures;
  private readonly meter: FanoutMeter;
  private readonly slow: SlowConsumers;
  private slowListeners: SlowListeners = { caughtUp: () => undefined, tooSlow: () => undefined };
  private mayDeliver: (room: string) => boolean = () => true;

  constructor(
    private readonly http: HttpAdapterHost,
    private readonly redis: RedisClients,
    @Inject(ENV) private readonly env: Env,
    private readonly log: Logger,
    private readonly readiness: Readiness,
    metrics: Metrics,
  ) {
    this.failures = metrics.counter('im_fanout_failures_total', 'Frames or subscriptions lost between nodes', ['kind']);
    this.meter = new FanoutMeter(metrics);
    this.slow = new SlowConsumers({
      behind: () => this.meter.slowConsumer('behind'),
      caughtUp: (socket) => {
        this.meter.slowConsumer('caught_up');
        this.slowListeners.caughtUp(clientOf(socket));
      },
      tooSlow: (socket) => {
        this.meter.slowConsumer('closed');
        this.slowListeners.tooSlow(clientOf(socket));
      },
    });
  }

  onApplicationBootstrap(): void {
    const server = new Server(this.http.httpAdapter.getHttpServer() as HttpServer, {
      cors: { origin: '*' },
      serveClient: false,
      maxHttpBufferSize: MAX_TRANSPORT_BYTES,
      // On it costs 16 times the CPU and hundreds of KiB a connection.
      perMessageDeflate: false,
      connectTimeout: 10_000,
      parser: limitedParser,
      cleanupEmptyChildNamespaces: true,
    });
    this.server = server;
    cutSilentFarewells(server, FAREWELL_MS);
    this.guard = new PubSubGuard(this.redis.pub, this.redis.sub, {
      publishFailed: (error) => this.lost('publish', error),
      subscribeFailed: (error) => this.lost('subscribe', error),
    });
    const sharded = createShardedAdapter(this.redis.pub, this.redis.sub, {
      channelPrefix: `${this.env.REDIS_KEY_PREFIX}:fanout`,
      subscriptionMode: 'dynamic',
    });
    server.adapter(this.fanout(server, sharded) as never);
    this.startProbe();
    this.redis.sub.on('ready', () => this.gap());
    this.redis.sub.on('subscribersReady', () => this.gap());
    server.use((_, next) => next(handshakeError(new AppError('NOT_FOUND', { message: `Connect to ${NAMESPACE}.` }))));
    server.engine.on('connection_error', (error: { code: number; message: string }) => {
      this.log.debug({ code: error.code, reason: error.message }, 'a transport was refused');
    });
  }

  private fanout(server: Server, adapter: unknown): unknown {
    const why = whyNotDirect(server);
    if (why !== null) this.log.warn({ why }, 'frames take the normal way to every socket, which costs twice the CPU');
    return fanoutAdapter(adapter, {
      direct: why === null,
      slow: this.slow,
      mayDeliver: (room) => this.mayDeliver(room),
      onRound: (seconds, members) => this.meter.round(seconds, members),
      onWrites: (counts) => this.meter.writes(counts),
    });
  }

  /** The subscriber that carries the frames of other nodes is asked whether it hears. */
  private startProbe(): void {
    const channel = `${this.env.REDIS_KEY_PREFIX}:fanout:probe:${randomUUID()}`;
    const probe = new DeafnessProbe(
      // Not by the guarded method: a probe that cannot be sent is no frame that anybody missed.
      (token) => this.redis.pub.call('SPUBLISH', channel, token),
      () => {
        this.log.error({}, 'this node hears nothing of the others: its subscriber is opened anew');
        this.failures.inc({ kind: 'deaf' });
        this.redis.sub.disconnect(true);
      },
    );
    this.redis.sub.on('smessage', (from: string, token: string) => {
      if (from === channel) probe.heard(token);
    });
    this.redis.sub.ssubscribe(channel).catch(() => undefined);
    this.readiness.require('fanout', () => probe.hears);
    probe.start();
    this.probe = probe;
  }

  get namespace(): Namespace {
    if (!this.server) throw new Error('the socket server is not up yet');
    return this.server.of(NAMESPACE);
  }

  /** Frames to a room are delivered on this node only while the gate says yes; other nodes get them all the same. */
  setGate(mayDeliver: (room: string) => boolean): void {
    this.mayDeliver = mayDeliver;
  }

  /** Called after frames between nodes may have been lost; clients then have to ask where they are behind. */
  onGap(listener: () => void): void {
    this.gapListeners.push(listener);
  }

  /** Called after a frame did not reach the other nodes: their clients missed it, and they do not know. */
  onPublishLost(listener: () => void): void {
    this.publishLostListeners.push(listener);
  }

  onSlowConsumers(listeners: SlowListeners): void {
    this.slowListeners = listeners;
  }

  /** Looks whether too much waits for a client that was just answered. */
  checkBacklog(client: ClientSocket): void {
    this.slow.check(inside(client));
  }

  /**
   * Ends a connection with a last word. Whether the client reads it or not, the connection is cut after `graceMs`: one that
   * does not read would keep its memory, and a node that ends, for a long time.
   * @param dropQueued what still waits for the client is dropped, so that the word comes first
   */
  end<E extends ServerEventName>(client: ClientSocket, event: E, payload: ServerEvents[E], options: EndOptions): void {
    const socket = inside(client);
    if (options.dropQueued) dropQueued(socket);
    this.emitTo(client, event, payload);
    if (options.lingerMs) setTimeout(() => client.disconnect(true), options.lingerMs).unref();
    else client.disconnect(true);
    setTimeout(() => terminate(socket), options.graceMs).unref();
  }

  /** Waits, bounded, until the subscriptions that joins asked for have taken effect in Redis. @returns whether they have */
  async subscribed(): Promise<boolean> {
    return this.guard ? this.guard.subscribed(SUBSCRIBE_WAIT_MS) : false;
  }

  /** Sends to every socket in one room on all nodes. Never two rooms in one call: that would reach every node. */
  emit<E extends ServerEventName>(room: string, event: E, payload: ServerEvents[E] | RawJson): void {
    const target = this.env.GROUP_FANOUT_ENABLED ? this.namespace : this.namespace.local;
    target.to(room).emit(event, payload);
  }

  /** As `emit`, but for the sockets that are in another room, too. */
  emitExcept<E extends ServerEventName>(room: string, except: string, event: E, payload: ServerEvents[E]): void {
    const target = this.env.GROUP_FANOUT_ENABLED ? this.namespace : this.namespace.local;
    target.to(room).except(except).emit(event, payload);
  }

  /** Sends to one socket of this node. */
  emitTo<E extends ServerEventName>(client: ClientSocket, event: E, payload: ServerEvents[E]): void {
    (client as unknown as { emit(name: string, body: unknown): void }).emit(event, payload);
  }

  /** This node's sockets in a room. */
  localSockets(room: string): ClientSocket[] {
    const { adapter, sockets } = this.namespace;
    return [...(adapter.rooms.get(room) ?? [])].flatMap((id) => (sockets.get(id) as unknown as ClientSocket) ?? []);
  }

  get localCount(): number {
    return this.server ? this.namespace.sockets.size : 0;
  }

  /** Stops taking connections and closes those that are left; whoever does not answer that is cut off. */
  async close(): Promise<void> {
    this.probe?.stop();
    this.slow.stop();
    if (!this.server) return;
    const { clients } = this.server.engine as unknown as { clients: Record<string, Recipient['client']['conn']> };
    const left = Object.values(clients);
    const timer = setTimeout(() => left.forEach((conn) => conn.transport.socket?.terminate()), CLOSE_GRACE_MS);
    await this.server.close().finally(() => clearTimeout(timer));
  }

  private lost(kind: 'publish' | 'subscribe', error: Error): void {
    this.failures.inc({ kind });
    this.log.warn({ kind, error: error.message }, 'fan-out between nodes failed');
    this.gap();
    if (kind === 'publish') for (const listener of this.publishLostListeners) listener();
  }

  private gap(): void {
    for (const listener of this.gapListeners) listener();
  }
}
