import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net';

/** A TCP way to a server that a test can cut and mend. */
export class Wire {
  private readonly sockets = new Set<Socket>();
  private open = true;

  private constructor(
    private readonly server: Server,
    readonly port: number,
  ) {}

  static async to(host: string, port: number): Promise<Wire> {
    let wire: Wire | undefined;
    const server = createServer((near) => wire?.join(near, connect(port, host)));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    wire = new Wire(server, (server.address() as AddressInfo).port);
    return wire;
  }

  cut(): void {
    this.open = false;
    for (const socket of this.sockets) socket.destroy();
  }

  mend(): void {
    this.open = true;
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private join(near: Socket, far: Socket): void {
    for (const socket of [near, far]) {
      this.sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    if (!this.open) return void near.destroy();
    near.pipe(far).pipe(near);
  }
}
