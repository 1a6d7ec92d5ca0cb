import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  /** The last bytes that went to the server: a word may be cut in two by the packets. */
  tail: string;
  /** What the server says is lost. */
  deaf: boolean;
  /** It has subscribed to something. */
  listens: boolean;
}

interface Trap {
  readonly words: readonly string[];
  readonly spring: () => void;
}

/** By which a connection that listens is known. */
const LISTENING = 'subscribe';

/** How long the rest of a request may still reach the server before a cut. */
const CUT_AFTER_MS = 200;

/** A TCP relay between a node and a server, that does to the traffic what a bad network does. */
export class Wire {
  private readonly pairs = new Set<Pair>();
  private trap: Trap | null = null;
  /** Nothing goes that way any more; the connections stay open. */
  private toServerStalled = false;
  private toClientStalled = false;
  /** New connections are closed at once. */
  private down = false;

  private constructor(
    private readonly relay: Server,
    private readonly serverPort: number,
  ) {
    relay.on('connection', (client: Socket) => this.take(client));
  }

  static async open(serverPort: number): Promise<Wire> {
    const relay = createServer();
    await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve));
    return new Wire(relay, serverPort);
  }

  get port(): number {
    return (this.relay.address() as AddressInfo).port;
  }

  /**
   * From the first request that contains one of `words`, this one included, nothing goes through in either direction.
   * @returns resolves at that moment
   */
  stallAt(words: readonly string[]): Promise<void> {
    return this.set(words, () => (this.toServerStalled = this.toClientStalled = true));
  }

  /**
   * The first request that contains one of `words` reaches the server, its answer does not come back: all connections
   * are cut, and for `downMs` none is taken.
   * @returns resolves when the connections are cut
   */
  async cutAfter(words: readonly string[], downMs: number): Promise<void> {
    await this.set(words, () => (this.toClientStalled = true));
    await new Promise((resolve) => setTimeout(resolve, CUT_AFTER_MS));
    this.cut();
    this.down = true;
    setTimeout(() => this.restore(), downMs);
  }

  /** Connections that listen hear nothing any more and stay open, as when a firewall forgets them. New ones are sound. */
  deafen(): number {
    const listening = [...this.pairs].filter((pair) => pair.listens);
    for (const pair of listening) pair.deaf = true;
    return listening.length;
  }

  /** Ends every connection; new ones work. */
  cut(): void {
    for (const { client, server } of this.pairs) {
      client.destroy();
      server.destroy();
    }
  }

  /** A sound network again; connections that lost something are ended. */
  restore(): void {
    if (this.toServerStalled || this.toClientStalled) this.cut();
    this.trap = null;
    this.toServerStalled = this.toClientStalled = this.down = false;
  }

  async close(): Promise<void> {
    this.down = true;
    this.cut();
    await new Promise((resolve) => this.relay.close(resolve));
  }

  private set(words: readonly string[], stall: () => void): Promise<void> {
    return new Promise((resolve) => {
      this.trap = {
        words,
        spring: () => {
          this.trap = null;
          stall();
          resolve();
        },
      };
    });
  }

  private toServer(pair: Pair, chunk: Buffer): void {
    const text = pair.tail + chunk.toString('latin1');
    pair.tail = text.slice(-64);
    if (text.includes(LISTENING)) pair.listens = true;
    if (this.trap?.words.some((word) => text.includes(word))) this.trap.spring();
    if (!this.toServerStalled) pair.server.write(chunk);
  }

  private take(client: Socket): void {
    if (this.down) return void client.destroy();
    const pair: Pair = {
      client,
      server: connect(this.serverPort, '127.0.0.1'),
      tail: '',
      deaf: false,
      listens: false,
    };
    this.pairs.add(pair);
    client.on('data', (chunk: Buffer) => this.toServer(pair, chunk));
    pair.server.on('data', (chunk: Buffer) => {
      if (!this.toClientStalled && !pair.deaf) client.write(chunk);
    });
    for (const socket of [client, pair.server]) {
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.pairs.delete(pair);
        client.destroy();
        pair.server.destroy();
      });
    }
  }
}
