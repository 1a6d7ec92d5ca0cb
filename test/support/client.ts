import { io, type Socket } from 'socket.io-client';
import type { Message, MessagesFrame } from '../../src/modules/group-message/group-message.types.js';
import type { ErrorBody } from '../../src/platform/errors/app-error.js';

export type Ack = { ok: boolean; error?: ErrorBody } & Record<string, unknown>;

export interface SendAck extends Ack {
  seq: number;
  messageId: string;
  createdAt: string;
  duplicate: boolean;
}

export interface PageAck extends Ack {
  messages: Message[];
  nextAfterSeq: number;
  stableSeq: number;
  lastSeq: number;
  hasMore: boolean;
  source: string;
}

export interface Received {
  readonly event: string;
  readonly payload: Record<string, unknown>;
}

/** A plain client that does nothing by itself: it says what it is told and keeps what it hears, in order. */
export class TestClient {
  readonly received: Received[] = [];
  ready: Record<string, unknown> | null = null;

  private constructor(readonly socket: Socket) {
    socket.onAny((event: string, payload: Record<string, unknown>) => this.received.push({ event, payload }));
  }

  /** @throws the `connect_error` (its `data` is the error object) when the handshake is refused */
  static async connect(
    url: string,
    auth: Record<string, unknown>,
    transports = ['websocket'],
    extraHeaders: Record<string, string> = {},
  ): Promise<TestClient> {
    const socket = io(`${url}/im`, { auth, transports, extraHeaders, forceNew: true, reconnection: false });
    const client = new TestClient(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once('connect_error', (error) => {
        socket.close();
        reject(error);
      });
      socket.once('disconnect', (reason) => reject(new Error(`closed before ready: ${reason}`)));
      socket.once('session:ready', (ready: Record<string, unknown>) => {
        client.ready = ready;
        resolve();
      });
    });
    return client;
  }

  emit<T extends Ack = Ack>(event: string, ...args: unknown[]): Promise<T> {
    return this.socket.timeout(20_000).emitWithAck(event, ...args) as Promise<T>;
  }

  send(topic: string, clientMsgId: string, text: string, more: Record<string, unknown> = {}): Promise<SendAck> {
    return this.emit<SendAck>('message:send', { topic, clientMsgId, type: 'text', content: { text }, ...more });
  }

  history(topic: string, query: Record<string, unknown>): Promise<PageAck> {
    return this.emit<PageAck>('message:history', { topic, ...query });
  }

  /** Reads forward to the end. */
  async historyFrom(topic: string, afterSeq = 0, limit = 100): Promise<Message[]> {
    const all: Message[] = [];
    for (let after = afterSeq; ;) {
      const page = await this.history(topic, { afterSeq: after, limit });
      if (!page.ok) throw new Error(JSON.stringify(page.error));
      all.push(...page.messages);
      if (!page.hasMore) return all;
      after = page.nextAfterSeq;
    }
  }

  /** Messages of one topic that came in realtime, in the order of their coming. */
  heard(topic: string): Message[] {
    return this.received.flatMap(({ event, payload }) =>
      event === 'messages' && payload.topic === topic ? [...(payload as unknown as MessagesFrame).messages] : [],
    );
  }

  events(event: string): Record<string, unknown>[] {
    return this.received.filter((item) => item.event === event).map((item) => item.payload);
  }

  close(): void {
    this.socket.disconnect();
  }
}
