import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net';

/** A TCP way to a server that a test can cut and mend. */
export class Wire {
  private readonly sockets = new Set<Socket>();
  private open = true;
  private held = false;

  private constructor(
    private readonly server: Server,
    readonly port: number,
  ) {}

  static async to(host: string, port: number): Promise<Wire> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const wire = new Wire(server, (server.address() as AddressInfo).port);
    server.on('connection', (near) => wire.accept(near, () => connect(port, host)));
    return wire;
  }

  cut(): void {
    this.open = false;
    for (const socket of this.sockets) socket.destroy();
  }

  mend(): void {
    this.open = true;
  }

  /** From now on connections are accepted and nothing comes back, as from a frozen server. */
  hold(): void {
    this.held = true;
  }

  /** The server answers again; connections that were held are ended. */
  release(): void {
    this.held = false;
    for (const socket of this.sockets) socket.destroy();
  }

  /** Connections stay open and nothing goes through them in either direction; new ones too. `release()` ends it. */
  freeze(): void {
    this.held = true;
    for (const socket of this.sockets) socket.unpipe().pause();
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private accept(near: Socket, open: () => Socket): void {
    const ends = this.held || !this.open ? [near] : [near, open()];
    for (const socket of ends) {
      this.sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.sockets.delete(socket);
        for (const end of ends) end.destroy();
      });
    }
    if (!this.open) near.destroy();
    else if (ends.length === 2) near.pipe(ends[1]).pipe(near);
  }
}
