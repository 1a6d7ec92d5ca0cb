import type { Application } from '../../../src/application.js';
import { SocketServer } from '../../../src/platform/socket/socket-server.js';
import { Stage, type TestNode, type TestUser } from '../../support/stage.js';
import { until } from '../../support/until.js';
import { RawSocket } from '../house/raw-socket.js';

let stage: Stage;
let node: TestNode & { readonly application: Application };
let alice: TestUser;

beforeAll(async () => {
  stage = await Stage.open();
  await stage.tenant('acme', ['alice']);
  node = await stage.inProcess();
  alice = await stage.login(node, 'acme', 'alice');
}, 60_000);
afterAll(() => stage.close());

const connect = (token: string): string => `40/im,${JSON.stringify({ token })}`;
const sockets = (): number => node.application.nest.get(SocketServer, { strict: false }).localCount;

describe('one connection', () => {
  it('carries one client: a second CONNECT before the first is answered ends it, and nobody is let in twice', async () => {
    for (let round = 0; round < 5; round += 1) {
      const raw = await RawSocket.open(node.url);
      for (let count = 0; count < 5; count += 1) raw.text(connect(alice.accessToken));
      await until('the connection is closed', () => raw.closed);
      raw.destroy();
    }
    await until('nobody is there', () => sockets() === 0);
  }, 30_000);

  it('ends when its client leaves the namespace', async () => {
    const raw = await RawSocket.open(node.url);
    await raw.join(alice.accessToken);
    raw.text('41/im,');
    await until('the connection is closed', () => raw.closed);
    await until('nobody is there', () => sockets() === 0);
    raw.destroy();
  });

  it('may be tried again with another token after a refusal', async () => {
    const raw = await RawSocket.open(node.url);
    raw.text(connect('a.b.c'));
    await until('it is refused', () => raw.packets.some((packet) => packet.includes('UNAUTHENTICATED')));
    await raw.join(alice.accessToken);
    expect(await raw.settled()).toBe('answers');
    expect(sockets()).toBe(1);
    raw.destroy();
    await until('nobody is there', () => sockets() === 0);
  });
});
