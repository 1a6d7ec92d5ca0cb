import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import { AppError } from '../errors/app-error.js';
import { toAppError } from '../errors/to-app-error.js';
import { errorText } from '../http/problem.filter.js';
import type { UserBudget } from '../http/spends.js';
import { validateDto } from '../http/validation.js';
import { Logger } from '../observe/logger.js';
import { Metrics } from '../observe/metrics.js';
import { RawJson } from '../wire/raw-json.js';
import type { Ack } from './events.js';
import { OVERSIZE } from './limited-parser.js';
import type { ClientSocket } from './socket-client.js';
import { SocketServer } from './socket-server.js';
import { SOCKET_EVENT, type SocketEventOptions } from './socket-event.decorator.js';

const MOVING = 'This server is going away. Repeat it on the next connection.';
const MOVING_MS = 500;

/** Takes one of a user's budget, or throws; answers without a promise when it can. */
type Spend = (client: ClientSocket, budget: UserBudget) => void | Promise<void>;

type Handler = (client: ClientSocket, payload: object) => Promise<object | void> | object | void;

interface Route extends SocketEventOptions {
  readonly handle: Handler;
}

/**
 * The one path of every client event: size, shape and DTO are checked, the gateway's method runs, and whatever happens
 * becomes exactly one acknowledgement. Nest's own gateway machinery is not used: its filters and pipes do not reach the
 * acknowledgement, and what a handler throws outside of them ends the process (docs/adr/0005).
 */
@Injectable()
export class SocketRouter implements OnModuleInit {
  private readonly routes = new Map<string, Route>();
  private readonly seconds;
  /** How many events of each client are being handled; who has none is not in it. */
  private readonly running = new Map<ClientSocket, number>();
  /** Those whose connection is about to end. */
  private readonly refused = new WeakSet<ClientSocket>();
  private spend: Spend = () => undefined;

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
    private readonly reflector: Reflector,
    private readonly sockets: SocketServer,
    private readonly log: Logger,
    metrics: Metrics,
  ) {
    this.seconds = metrics.histogram('im_socket_event_seconds', 'Time from a client event to its ack', [
      'event',
      'result',
    ]);
  }

  onModuleInit(): void {
    for (const { instance } of this.discovery.getProviders()) {
      if (typeof instance !== 'object' || instance === null) continue;
      const gateway = instance as Record<string, Handler>;
      for (const method of this.scanner.getAllMethodNames(Object.getPrototypeOf(instance) as object)) {
        const options = this.reflector.get<SocketEventOptions | undefined>(SOCKET_EVENT, gateway[method]);
        if (!options) continue;
        if (this.routes.has(options.event)) throw new Error(`two handlers for the event ${options.event}`);
        this.routes.set(options.event, { ...options, handle: gateway[method].bind(instance) });
      }
    }
  }

  /** Names of all client events; a test throws garbage at each of them. */
  get events(): string[] {
    return [...this.routes.keys()];
  }

  /** Every event spends a budget from now on, also one that is malformed. */
  limit(spend: Spend): void {
    this.spend = spend;
  }

  /** Is any event being handled at this moment? */
  get isBusy(): boolean {
    return this.running.size > 0;
  }

  /** Does this client wait for an answer? */
  owesTo(client: ClientSocket): boolean {
    return this.running.has(client);
  }

  /** Refuses what this client sends from now on, retryably; what is under way is answered. */
  refuse(client: ClientSocket): void {
    this.refused.add(client);
  }

  /** Answers everything that this socket sends from now on. */
  attach(client: ClientSocket): void {
    client.use((packet: unknown[]) => void this.answer(client, packet));
  }

  private async answer(client: ClientSocket, packet: unknown[]): Promise<void> {
    const [event, ...args] = packet;
    const ack = typeof args.at(-1) === 'function' ? (args.pop() as (answer: Ack | RawJson) => void) : undefined;
    const route = typeof event === 'string' ? this.routes.get(event) : undefined;
    const stop = this.seconds.startTimer({ event: route?.event ?? 'unknown' });
    this.running.set(client, (this.running.get(client) ?? 0) + 1);
    client.data.activeAtMs = Date.now();
    const answer = await this.dispatch(route, client, args);
    this.ended(client);
    stop({ result: answer instanceof RawJson || answer.ok ? 'ok' : (answer.error as { code: string }).code });
    ack?.(answer);
    this.sockets.checkBacklog(client);
  }

  private ended(client: ClientSocket): void {
    const left = this.running.get(client)! - 1;
    if (left > 0) this.running.set(client, left);
    else this.running.delete(client);
  }

  private async dispatch(route: Route | undefined, client: ClientSocket, args: unknown[]): Promise<Ack | RawJson> {
    try {
      if (this.refused.has(client)) throw new AppError('OVERLOADED', { message: MOVING, retryAfterMs: MOVING_MS });
      const spending = this.spend(client, route?.budget ?? 'read');
      if (spending) await spending;
      if (!route) throw new AppError('UNKNOWN_EVENT');
      if (args[0] === OVERSIZE) throw new AppError('PAYLOAD_TOO_LARGE');
      if (args.length > 1) throw new AppError('VALIDATION_FAILED', { message: 'An event takes exactly one payload.' });
      if (client.data.expiresAtMs <= Date.now()) throw new AppError('TOKEN_EXPIRED');
      const payload = await validateDto(route.dto, args.length === 0 ? {} : args[0]);
      const result = await route.handle(client, payload);
      return result instanceof RawJson ? result.asOk() : { ok: true, ...result };
    } catch (thrown) {
      const error = toAppError(thrown);
      if (error.status >= 500) {
        const { tenant, uid } = client.data.actor;
        this.log.error(
          { tenant, uid, event: route?.event, code: error.code, err: errorText(thrown) },
          'an event failed',
        );
      }
      return { ok: false, error: error.toBody() };
    }
  }
}
