import type { Message } from '../../src/modules/group-message/group-message.types.js';
import { TestClient, type PageAck } from './client.js';
import type { TestNode, TestUser } from './stage.js';

/** What a sender was told of one message. */
export interface Acknowledged {
  readonly clientMsgId: string;
  readonly seq: number;
  readonly messageId: string;
}

const CALL_TIMEOUT_MS = 8_000;

/**
 * A member whose client does the client's half of the promise and nothing more: it sends with retries of the same id,
 * keeps a cursor by the published rule, pulls after every connect, resync and gap, and never trusts realtime alone.
 */
export class Member {
  readonly acknowledged: Acknowledged[] = [];
  /** Refusals by code; all must be retryable. */
  readonly refusals: { code: string; retryable: boolean; tookMs: number }[] = [];
  /** Messages at or below the cursor, in the order in which the cursor passed them. */
  readonly known: Message[] = [];
  /** Highest seq that a cursor may not be passed by: a message that appears at or below it was lost. */
  cursor = 0;
  readonly violations: string[] = [];
  private client: TestClient | null = null;
  private stopped = false;
  private pulling: Promise<void> | null = null;
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly nodes: () => TestNode[],
    private readonly user: TestUser,
    private readonly topic: string,
    private home: number,
  ) {
    // A cursor below what was shown asks again; here it simply asks all the time.
    this.timer = setInterval(() => void this.pull(), 500);
  }

  async connect(): Promise<TestClient> {
    while (!this.stopped) {
      if (this.client?.socket.connected) return this.client;
      const nodes = this.nodes();
      const node = nodes[this.home % nodes.length];
      try {
        const client = await TestClient.connect(node.url, { token: this.user.accessToken });
        client.socket.on('topic:resync', () => void this.pull());
        client.socket.on('messages', () => void this.pull());
        this.client = client;
        void this.pull();
      } catch {
        this.home += 1;
        await pause(100);
      }
    }
    throw new Error('stopped');
  }

  /** Sends until it is acknowledged, with the same id, however often it is refused or left without an answer. */
  async send(clientMsgId: string, text: string): Promise<void> {
    while (!this.stopped) {
      const started = performance.now();
      try {
        const client = await this.connect();
        const ack = await client.socket
          .timeout(CALL_TIMEOUT_MS)
          .emitWithAck('message:send', { topic: this.topic, clientMsgId, type: 'text', content: { text } });
        if (ack.ok) {
          this.acknowledged.push({ clientMsgId, seq: ack.seq, messageId: ack.messageId });
          return;
        }
        this.refusals.push({ ...ack.error, tookMs: performance.now() - started });
        await pause(Math.min(ack.error.retryAfterMs ?? 100, 300));
      } catch {
        // No answer: the outcome is open, the same id is sent again.
        await pause(50);
      }
    }
  }

  /** Reads everything above the cursor. Never moves it on an error. */
  pull(): Promise<void> {
    this.pulling ??= this.pullOnce().finally(() => (this.pulling = null));
    return this.pulling;
  }

  stop(): void {
    this.stopped = true;
    clearInterval(this.timer);
    this.client?.close();
  }

  dropConnection(): void {
    this.client?.socket.io.engine?.close();
  }

  private async pullOnce(): Promise<void> {
    try {
      for (let after = this.cursor; !this.stopped;) {
        const client = await this.connect();
        const page = (await client.socket
          .timeout(CALL_TIMEOUT_MS)
          .emitWithAck('message:history', { topic: this.topic, afterSeq: after, limit: 100 })) as PageAck;
        if (!page.ok) return;
        this.take(page, after);
        if (!page.hasMore) return;
        after = page.nextAfterSeq;
      }
    } catch {
      // The next pull asks again.
    }
  }

  private take(page: PageAck, after: number): void {
    if (after > this.cursor) return;
    const target = Math.max(this.cursor, page.hasMore ? Math.min(page.nextAfterSeq, page.stableSeq) : page.stableSeq);
    for (const message of page.messages) {
      if (message.seq > this.cursor && message.seq <= target) this.known.push(message);
    }
    this.cursor = target;
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
