import { randomUUID } from 'node:crypto';
import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { ENV, type Env } from '../env/env.js';
import { Logger } from '../observe/logger.js';
import { Readiness } from '../observe/readiness.js';
import { DeafnessProbe } from './deafness-probe.js';
import { NodeIdentity } from './node-identity.js';
import { createRedisClient, type RedisClient } from './redis-clients.js';
import { RedisKeys } from './keys.js';
import { RedisScripts } from './redis-scripts.js';

/** What goes through an inbox: a request, or the answer to one. */
type Parcel =
  | { readonly id: string; readonly from: string; readonly kind: string; readonly payload: unknown }
  | { readonly re: string; readonly by: string; readonly ok: boolean }
  | { readonly from: string; readonly tell: string; readonly payload: unknown }
  | { readonly probe: string };

type RequestHandler = (payload: never) => Promise<void> | void;

export interface LivingNodes {
  readonly nodes: readonly string[];
  /** False while there may be nodes that are not in the list. */
  readonly complete: boolean;
}

export interface AskOptions {
  /** Whole time for all answers, milliseconds. */
  readonly timeoutMs: number;
  /** The nodes that live now; asked again and again, and one that is gone is no longer waited for. */
  readonly livingNodes: () => Promise<LivingNodes>;
}

const ASK_AGAIN_MS = 500;

/**
 * Requests between nodes that are answered only after they were carried out (the adapter's own `socketsLeave` has no
 * answer). Every node listens on its inbox; handlers must be idempotent, since a request may come twice.
 */
@Injectable()
export class NodeBus implements OnModuleInit, OnApplicationShutdown {
  private readonly handlers = new Map<string, RequestHandler>();
  private readonly waiting = new Map<string, (by: string, ok: boolean) => void>();
  private readonly sub: RedisClient;
  private readonly listeners = new Map<string, (payload: never) => void>();
  private readonly gapListeners: (() => void)[] = [];
  private inbox = '';
  /** Inboxes of earlier ids that Redis may still send to. */
  private readonly left = new Set<string>();
  private readonly probe = new DeafnessProbe(
    (token) => this.publish(this.identity.id, { probe: token }),
    () => {
      this.log.error({}, 'the inbox of this node hears nothing: it is opened anew');
      this.sub.disconnect(true);
    },
  );

  constructor(
    @Inject(ENV) env: Env,
    private readonly keys: RedisKeys,
    private readonly scripts: RedisScripts,
    private readonly identity: NodeIdentity,
    private readonly log: Logger,
    readiness: Readiness,
  ) {
    // What others ask of a deaf node (to let a member leave, first of all) waits in vain.
    readiness.require('inbox', () => this.probe.hears);
    this.sub = createRedisClient(env, 'sub');
    this.sub.on('error', () => undefined);
    this.sub.on('message', (_channel: string, text: string) => void this.receive(text));
    this.sub.on('ready', () => {
      // Only then: what changes before Redis has confirmed is told to nobody here, and must be seen by who reads anew.
      void this.subscribe().then(() => {
        for (const listener of this.gapListeners) listener();
      });
    });
  }

  onModuleInit(): void {
    this.listen();
    this.probe.start();
  }

  /** Moves the inbox to the node's present id. */
  listen(): void {
    const inbox = this.inboxOf(this.identity.id);
    if (inbox === this.inbox) return;
    if (this.inbox !== '') this.left.add(this.inbox);
    this.inbox = inbox;
    void this.subscribe();
  }

  /**
   * Says what this node wants to hear. Said again whenever the subscriber is connected: the client library restores what
   * Redis had confirmed, and a change that was under way when the connection ended is not among it. Never rejects.
   */
  private async subscribe(): Promise<void> {
    for (const inbox of this.left) {
      this.sub.unsubscribe(inbox).then(
        () => this.left.delete(inbox),
        () => undefined,
      );
    }
    try {
      await this.sub.subscribe(this.inbox, this.keys.of('nodeBroadcast', {}));
    } catch (error) {
      this.log.warn({ error: (error as Error).message }, 'the inbox of this node is not subscribed yet');
    }
  }

  /** Registers what this node does on a request; it is answered when the promise resolves. */
  handle<P>(kind: string, handler: (payload: P) => Promise<void> | void): void {
    if (this.handlers.has(kind)) throw new Error(`two handlers for the node request ${kind}`);
    this.handlers.set(kind, handler as RequestHandler);
  }

  /**
   * Tells all nodes, this one included, something that is not answered; who is away misses it.
   * @throws RedisUnavailable when the others were not told; this node was, all the same
   */
  async tellAll(kind: string, payload: unknown): Promise<void> {
    this.listeners.get(kind)?.(payload as never);
    const parcel: Parcel = { from: this.identity.id, tell: kind, payload };
    const channel = this.keys.of('nodeBroadcast', {});
    await this.scripts.command('publish', (client) => client.publish(channel, JSON.stringify(parcel)));
  }

  /** Registers what this node does when something is told to all. */
  onTold<P>(kind: string, listener: (payload: P) => void): void {
    if (this.listeners.has(kind)) throw new Error(`two listeners for what is told as ${kind}`);
    this.listeners.set(kind, listener as (payload: never) => void);
  }

  /** Called whenever the subscriber is connected (again): what was told meanwhile was missed. */
  onGap(listener: () => void): void {
    this.gapListeners.push(listener);
  }

  /**
   * Has every living node, this one included, carry out a request.
   * @returns true when each of them answered or ended its lease, false when one did neither in time
   * @throws RedisUnavailable when the living nodes cannot be known
   */
  async askAll(kind: string, payload: unknown, options: AskOptions): Promise<boolean> {
    const deadline = Date.now() + options.timeoutMs;
    const id = randomUUID();
    const done = new Set<string>();
    try {
      for (;;) {
        const living = await options.livingNodes();
        // This node is asked in any case: it may be between two leases.
        const missing = [...new Set([this.identity.id, ...living.nodes])].filter((node) => !done.has(node));
        if (missing.length === 0 && living.complete) return true;
        const waitMs = Math.min(ASK_AGAIN_MS, deadline - Date.now());
        if (waitMs <= 0) return false;
        // The silent ones are asked again: a parcel may be lost, and a node may have died meanwhile.
        const round = new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, waitMs);
          this.waiting.set(id, (by, ok) => {
            if (ok) done.add(by);
            if (missing.length === 0 || !missing.every((node) => done.has(node))) return;
            clearTimeout(timer);
            resolve();
          });
        });
        await Promise.all(missing.map((node) => this.send(node, { id, from: this.identity.id, kind, payload })));
        await round;
      }
    } finally {
      this.waiting.delete(id);
    }
  }

  async onApplicationShutdown(): Promise<void> {
    this.probe.stop();
    this.sub.disconnect();
  }

  private inboxOf(node: string): string {
    return this.keys.of('nodeInbox', { node });
  }

  private async send(node: string, parcel: Parcel): Promise<void> {
    if (node === this.identity.id) return this.receive(JSON.stringify(parcel));
    await this.publish(node, parcel);
  }

  private publish(node: string, parcel: Parcel): Promise<unknown> {
    return this.scripts.command('publish', (client) => client.publish(this.inboxOf(node), JSON.stringify(parcel)));
  }

  private async receive(text: string): Promise<void> {
    let parcel: Parcel;
    try {
      parcel = JSON.parse(text) as Parcel;
    } catch {
      return;
    }
    if ('tell' in parcel) {
      // What this node says itself it hears at once.
      if (parcel.from !== this.identity.id) this.listeners.get(parcel.tell)?.(parcel.payload as never);
      return;
    }
    if ('probe' in parcel) return this.probe.heard(parcel.probe);
    if ('re' in parcel) {
      this.waiting.get(parcel.re)?.(parcel.by, parcel.ok);
      return;
    }
    const ok = await this.carryOut(parcel.kind, parcel.payload);
    const answer: Parcel = { re: parcel.id, by: this.identity.id, ok };
    await this.send(parcel.from, answer).catch(() => undefined);
  }

  private async carryOut(kind: string, payload: unknown): Promise<boolean> {
    const handler = this.handlers.get(kind);
    // A node of another version that knows no such request has nothing of it to undo.
    if (!handler) return true;
    try {
      await handler(payload as never);
      return true;
    } catch (error) {
      this.log.error({ kind, error: (error as Error).message }, 'a node request failed');
      return false;
    }
  }
}
