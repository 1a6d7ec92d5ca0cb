import type { ErrorBody } from '../../src/platform/errors/app-error.js';
import type { Message, MessagesFrame } from '../../src/modules/group-message/group-message.types.js';
import { TestClient, type PageAck, type SendAck } from './client.js';
import type { TestNode, TestUser } from './stage.js';

/** What a sender was told of one message. */
export interface Acknowledged {
  readonly clientMsgId: string;
  readonly seq: number;
  readonly messageId: string;
  readonly duplicate: boolean;
  /** Beginning of its first attempt and end of its last, on one clock for all members. */
  readonly sentAtMs: number;
  readonly ackedAtMs: number;
}

export interface Refusal {
  readonly code: string;
  readonly retryable: boolean;
  readonly tookMs: number;
}

/** One page that was asked for. */
export interface Read {
  readonly ok: boolean;
  readonly source: string;
  readonly atMs: number;
  readonly tookMs: number;
}

/** How long a client waits for an answer before it takes the outcome for open. */
const CALL_TIMEOUT_MS = 8_000;
const PULL_EVERY_MS = 500;

/**
 * A member whose client does the client's half of the promise and nothing more: it sends with retries of the same id,
 * keeps a cursor by the published rule, pulls after every connect, resync and gap, and never trusts realtime alone.
 */
export class Member {
  readonly acknowledged: Acknowledged[] = [];
  /** All of them must be retryable. */
  readonly refusals: Refusal[] = [];
  /** Messages at or below the cursor, in the order in which the cursor passed them. */
  readonly known: Message[] = [];
  /** A message that appears at or below it without having been known was lost. */
  cursor = 0;
  /** Ids of messages by seq, as shown by frames and pages. */
  readonly shown = new Map<number, string>();
  /** Seqs that held two different messages. */
  readonly twice: number[] = [];
  readonly reads: Read[] = [];
  /** Sends that got no answer although the connection stood. */
  unanswered = 0;
  /** Connections that it had. */
  connections = 0;
  resyncs = 0;
  callTimeoutMs = CALL_TIMEOUT_MS;
  /** Longest pause before a refused send is repeated; the pauses double up to it. */
  retryWithinMs = 300;
  private client: TestClient | null = null;
  private connecting: Promise<TestClient> | null = null;
  private stopped = false;
  private pulling: Promise<void> | null = null;
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly nodes: () => TestNode[],
    readonly user: TestUser,
    private readonly topic: string,
    private home: number,
  ) {
    // A cursor below what was shown asks again; here it simply asks all the time.
    this.timer = setInterval(() => void this.pull(), PULL_EVERY_MS);
  }

  async connect(): Promise<TestClient> {
    if (this.client?.socket.connected) return this.client;
    this.connecting ??= this.connectSomewhere().finally(() => (this.connecting = null));
    return this.connecting;
  }

  /** Sends until it is acknowledged, with the same id, however often it is refused or left without an answer. */
  async send(clientMsgId: string, text: string): Promise<void> {
    const sentAtMs = performance.now();
    for (let attempt = 0; !this.stopped; attempt += 1) {
      const ack = await this.sendOnce(clientMsgId, text);
      if (ack?.ok) {
        const { seq, messageId, duplicate } = ack;
        this.acknowledged.push({ clientMsgId, seq, messageId, duplicate, sentAtMs, ackedAtMs: performance.now() });
        return;
      }
      const told = (ack?.error as ErrorBody | undefined)?.retryAfterMs ?? 100;
      await pause(Math.min(told * 2 ** Math.min(attempt, 6), this.retryWithinMs) * (0.5 + Math.random() / 2));
    }
  }

  /** Reads everything above the cursor. Never moves it on an error. */
  pull(): Promise<void> {
    this.pulling ??= this.pullOnce().finally(() => (this.pulling = null));
    return this.pulling;
  }

  /** The newest message of the topic that this member knows or was shown. */
  get newestShown(): number {
    return Math.max(this.cursor, ...this.shown.keys());
  }

  get isStopped(): boolean {
    return this.stopped;
  }

  stop(): void {
    this.stopped = true;
    clearInterval(this.timer);
    this.client?.close();
  }

  /** The transport dies without a goodbye. */
  dropConnection(): void {
    this.client?.socket.io.engine?.close();
  }

  private async connectSomewhere(): Promise<TestClient> {
    while (!this.stopped) {
      const nodes = this.nodes();
      const node = nodes[this.home % nodes.length];
      try {
        const client = await TestClient.connect(node.url, { token: this.user.accessToken });
        client.socket.on('topic:resync', () => {
          this.resyncs += 1;
          void this.pull();
        });
        client.socket.on('messages', (frame: MessagesFrame) => {
          if (frame.topic !== this.topic) return;
          for (const message of frame.messages) this.show(message);
          void this.pull();
        });
        this.client = client;
        this.connections += 1;
        void this.pull();
        return client;
      } catch {
        this.home += 1;
        await pause(100);
      }
    }
    throw new Error('stopped');
  }

  /** @returns null when the outcome is open: no answer came */
  private async sendOnce(clientMsgId: string, text: string): Promise<SendAck | null> {
    const client = await this.connect();
    const started = performance.now();
    try {
      const ack = (await client.socket
        .timeout(this.callTimeoutMs)
        .emitWithAck('message:send', { topic: this.topic, clientMsgId, type: 'text', content: { text } })) as SendAck;
      const tookMs = performance.now() - started;
      if (ack.error) this.refusals.push({ code: ack.error.code, retryable: ack.error.retryable, tookMs });
      return ack;
    } catch {
      if (client.socket.connected) this.unanswered += 1;
      return null;
    }
  }

  private async pullOnce(): Promise<void> {
    for (let after = this.cursor; !this.stopped;) {
      const page = await this.page(after);
      if (!page?.ok) return;
      this.take(page, after);
      if (!page.hasMore) return;
      after = page.nextAfterSeq;
    }
  }

  private async page(afterSeq: number): Promise<PageAck | null> {
    const atMs = performance.now();
    const done = (ok: boolean, source: string): void => {
      this.reads.push({ ok, source, atMs, tookMs: performance.now() - atMs });
    };
    try {
      const { socket } = await this.connect();
      const query = { topic: this.topic, afterSeq, limit: 100 };
      const page = (await socket.timeout(this.callTimeoutMs).emitWithAck('message:history', query)) as PageAck;
      done(page.ok, page.ok ? page.source : String(page.error?.code));
      return page;
    } catch {
      // The next pull asks again.
      if (!this.stopped) done(false, 'no answer');
      return null;
    }
  }

  private take(page: PageAck, after: number): void {
    for (const message of page.messages) this.show(message);
    if (after > this.cursor) return;
    const target = Math.max(this.cursor, page.hasMore ? Math.min(page.nextAfterSeq, page.stableSeq) : page.stableSeq);
    for (const message of page.messages) {
      if (message.seq > this.cursor && message.seq <= target) this.known.push(message);
    }
    this.cursor = target;
  }

  private show({ seq, id }: Message): void {
    if ((this.shown.get(seq) ?? id) !== id) this.twice.push(seq);
    this.shown.set(seq, id);
  }
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
