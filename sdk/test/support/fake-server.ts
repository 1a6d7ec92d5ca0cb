import { createServer, type Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Server, type Socket } from 'socket.io';
import type { ErrorCode, MessageContent, ServerEvent, ServerEvents, SessionClosing } from '../../src/wire.js';
import { FakeRest } from './fake-rest.js';
import { FakeTopic } from './fake-topic.js';

type Body = Record<string, never> & {
  topic: string;
  topics: string[];
  seq: number;
  seqs: number[];
  uids: string[];
  token: string;
  clientMsgId: string;
  content: MessageContent & { text: string };
  version: number;
  afterSeq?: number;
  beforeSeq?: number;
  afterChange: number;
  limit?: number;
};
type Ack = (answer: object) => void;

/** Probabilities, 0 to 1, and the longest delay of a frame in milliseconds. */
export interface Chaos {
  dropFrame: number;
  doubleFrame: number;
  maxDelayMs: number;
  refuseSend: number;
  loseAck: number;
  tombstone: number;
  shortPages: boolean;
}
export const CALM: Chaos = {
  dropFrame: 0,
  doubleFrame: 0,
  maxDelayMs: 0,
  refuseSend: 0,
  loseAck: 0,
  tombstone: 0,
  shortPages: false,
};

const refusal = (code: ErrorCode, retryable: boolean, retryAfterMs?: number): object => ({
  ok: false,
  error: { code, message: code, retryable, retryAfterMs },
});
const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** A server of the protocol in this process: real Socket.IO, the truth in memory, and as much bad luck as asked for. */
export class FakeServer {
  readonly rest = new FakeRest();
  readonly topics = new Map<string, FakeTopic>();
  chaos: Chaos = CALM;
  /** called before a message becomes visible */
  onStore: (topic: string, seq: number) => void = () => undefined;
  /** every call as it came, in order */
  readonly calls: { event: string; body: Body }[] = [];
  /** answers to give instead of the usual ones */
  readonly refusals = new Map<string, object[]>();
  withChanges = true;
  port = 0;
  private readonly stored = new Map<string, { seq: number; answer: object }>();
  private readonly storing = new Map<string, Promise<object>>();
  private http: HttpServer | undefined;
  private io: Server | undefined;

  constructor(readonly random: () => number = () => 0.5) {}

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  topic(name: string): FakeTopic {
    const topic = this.topics.get(name) ?? new FakeTopic(name);
    this.topics.set(name, topic);
    return topic;
  }

  async start(): Promise<void> {
    this.http = createServer((request, response) => void this.rest.handle(request, response));
    this.io = new Server(this.http, { transports: ['websocket'] });
    const im = this.io.of('/im');
    im.use((socket, next) => {
      const uid = this.rest.uidOf(socket.handshake.auth.token);
      socket.data.uid = uid;
      const data = { code: 'TOKEN_EXPIRED', message: 'ended', retryable: false };
      next(uid === undefined ? Object.assign(new Error('refused'), { data }) : undefined);
    });
    im.on('connection', (socket) => this.accept(socket));
    await new Promise<void>((resolve) => this.http?.listen(this.port, '127.0.0.1', resolve));
    this.port = (this.http.address() as AddressInfo).port;
  }

  /** Like a crash: connections end, what was being stored may be stored all the same, nobody is told. */
  async stop(): Promise<void> {
    const { io } = this;
    this.io = undefined;
    await io?.close();
  }

  sockets(): Socket[] {
    return [...(this.io?.of('/im').sockets.values() ?? [])];
  }

  closing(payload: SessionClosing): void {
    for (const socket of this.sockets()) socket.emit('session:closing', payload);
  }

  resync(): void {
    for (const socket of this.sockets()) socket.emit('topic:resync', {});
  }

  /** To every socket, as badly as the chaos wants; a dropped frame is followed by a resync, as servers do. */
  publish<E extends ServerEvent>(event: E, payload: ServerEvents[E]): void {
    for (const socket of this.sockets()) {
      const { dropFrame, doubleFrame, maxDelayMs } = this.chaos;
      if (this.random() < dropFrame) {
        setTimeout(() => socket.emit('topic:resync', {}), 20);
        continue;
      }
      const copies = this.random() < doubleFrame ? 2 : 1;
      for (let i = 0; i < copies; i += 1) {
        const delayMs = this.random() * maxDelayMs;
        if (delayMs < 1) socket.emit(event, payload);
        else setTimeout(() => socket.emit(event, payload), delayMs);
      }
    }
  }

  private accept(socket: Socket): void {
    const serverTime = new Date().toISOString();
    socket.onAny((event: string, body: Body, ack?: Ack) => {
      this.calls.push({ event, body });
      const planned = this.refusals.get(event)?.shift();
      const answer = planned ? Promise.resolve(planned) : this.answer(socket, event, body);
      void answer.then((value) => {
        if (event === 'message:send' && this.random() < this.chaos.loseAck) return;
        ack?.(value);
      });
    });
    const topics = this.topics.size;
    socket.emit('session:ready', { uid: socket.data.uid, sessionId: socket.id, nodeId: 'n1', serverTime, topics });
  }

  private async answer(socket: Socket, event: string, body: Body): Promise<object> {
    switch (event) {
      case 'topic:subscribe':
        return { ok: true, topics: body.topics.map((name) => this.head(name)) };
      case 'message:send':
        return this.send(String(socket.data.uid), body);
      case 'message:history': {
        const topic = this.topic(body.topic);
        const { stableSeq } = topic;
        await wait(this.random() * this.chaos.maxDelayMs);
        const limit = this.chaos.shortPages ? 3 : (body.limit ?? 50);
        return { ok: true, ...topic.page({ ...body, limit, stableSeq }) };
      }
      case 'topic:changes':
        if (!this.withChanges) return refusal('UNKNOWN_EVENT', false);
        return { ok: true, ...this.topic(body.topic).changesPage(body.afterChange, body.limit ?? 50) };
      case 'message:edit':
      case 'message:recall':
      case 'message:remove':
        return this.change(event, body);
      case 'message:delete':
        for (const seq of body.seqs) this.topic(body.topic).hidden.add(seq);
        return { ok: true };
      case 'topic:read':
        return { ok: true, readSeq: body.seq, unread: 0, totalUnread: 0 };
      case 'topic:received':
        return { ok: true, receivedSeq: body.seq };
      case 'presence:get':
      case 'presence:watch':
        return { ok: true, presences: body.uids.map((uid) => ({ uid, state: 'online' })) };
      case 'session:renew':
        return { ok: true, expiresAt: new Date().toISOString() };
      case 'session:heartbeat':
        return { ok: true, serverTime: new Date().toISOString() };
      default:
        return { ok: true };
    }
  }

  private head(name: string): object {
    const topic = this.topics.get(name);
    if (!topic) return { topic: name, error: { code: 'NOT_MEMBER', message: 'no member', retryable: false } };
    const { lastSeq, stableSeq } = topic;
    const changes = this.withChanges ? { lastChange: topic.changes.length } : {};
    return { topic: name, lastSeq, stableSeq, readSeq: 0, role: 'member', onlineCount: 1, ...changes };
  }

  private async send(uid: string, body: Body): Promise<object> {
    const key = `${body.topic} ${uid} ${body.clientMsgId}`;
    const known = this.stored.get(key);
    if (known) return { ...known.answer, duplicate: true };
    if (this.storing.has(key)) return refusal('IN_PROGRESS', true);
    if (this.random() < this.chaos.refuseSend) return refusal('SEQ_UNAVAILABLE', true, 20);
    const work = this.append(key, uid, body);
    this.storing.set(key, work);
    return work.finally(() => this.storing.delete(key));
  }

  private async append(key: string, uid: string, body: Body): Promise<object> {
    const topic = this.topic(body.topic);
    const seq = topic.number();
    const { io } = this;
    await wait(this.random() * this.chaos.maxDelayMs);
    if (this.random() < this.chaos.tombstone) {
      topic.tombstone(seq);
      if (this.io === io)
        this.publish('messages', { topic: body.topic, messages: [], voids: [seq], stableSeq: topic.stableSeq });
      return refusal('STORAGE_UNAVAILABLE', true);
    }
    this.onStore(body.topic, seq);
    const message = topic.store(seq, uid, body.clientMsgId, body.content.text);
    const answer = { ok: true, seq, messageId: message.id, createdAt: message.createdAt, duplicate: false };
    this.stored.set(key, { seq, answer });
    // a node that died meanwhile tells nobody
    if (this.io === io)
      this.publish('messages', { topic: body.topic, messages: [message], voids: [], stableSeq: topic.stableSeq });
    return answer;
  }

  private change(event: string, body: Body): object {
    const row = this.topic(body.topic).rows.get(body.seq);
    if (!row) return refusal('NOT_FOUND', false);
    if (event === 'message:edit' && row.version !== body.version) return refusal('CONFLICT', false);
    const status = event === 'message:edit' ? 'normal' : event === 'message:recall' ? 'recalled' : 'deleted';
    const change = this.topic(body.topic).change(body.seq, status, body.content?.text);
    this.publish('message:changed', change);
    return { ok: true, version: change.version, updatedAt: change.updatedAt };
  }
}
