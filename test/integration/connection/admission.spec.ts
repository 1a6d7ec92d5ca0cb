import type { Socket } from 'socket.io';
import type { Application } from '../../../src/application.js';
import type { ErrorBody } from '../../../src/platform/errors/app-error.js';
import { SocketServer } from '../../../src/platform/socket/socket-server.js';
import { TestClient } from '../../support/client.js';
import { Stage, type TestNode, type TestUser } from '../../support/stage.js';
import { until } from '../../support/until.js';
import { RawSocket } from '../house/raw-socket.js';

const AT_ONCE = 4;
const CROWD = 80;

let stage: Stage;
let node: TestNode & { readonly application: Application };
let alice: TestUser;

beforeAll(async () => {
  stage = await Stage.open({ HANDSHAKES_AT_ONCE: String(AT_ONCE) });
  await stage.tenant('acme', ['alice']);
  node = await stage.inProcess();
  alice = await stage.login(node, 'acme', 'alice');
}, 60_000);
afterAll(() => stage.close());

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

it('too many at once: some are let in, the others are told when to come back, and all get in', async () => {
  const refusals: ErrorBody[] = [];
  const enter = async (): Promise<TestClient> => {
    for (;;) {
      try {
        return await TestClient.connect(node.url, { token: alice.accessToken });
      } catch (error) {
        const { data } = error as { data: ErrorBody };
        refusals.push(data);
        await pause(data.retryAfterMs!);
      }
    }
  };
  const clients = await Promise.all(Array.from({ length: CROWD }, enter));
  try {
    expect(clients.every((client) => client.ready !== null)).toBe(true);
    expect(refusals.length).toBeGreaterThan(0);
    for (const refusal of refusals) expect(refusal).toMatchObject({ code: 'OVERLOADED', retryable: true });
    // Not all at the same time again.
    const times = refusals.map((refusal) => refusal.retryAfterMs!);
    expect(Math.min(...times)).toBeGreaterThanOrEqual(1_000);
    expect(Math.max(...times)).toBeLessThanOrEqual(30_000);
    expect(new Set(times).size).toBeGreaterThan(Math.min(refusals.length, 20) / 2);
  } finally {
    clients.forEach((client) => client.close());
  }
}, 120_000);

it('a socket that never authenticates, or was refused, is closed', async () => {
  const [silent, refused] = [await RawSocket.open(node.url), await RawSocket.open(node.url)];
  refused.text('40/im,{"token":"a.b.c"}');
  await until('it is refused', () => refused.packets.some((packet) => packet.includes('UNAUTHENTICATED')));
  await until('both are closed', () => silent.closed && refused.closed, 20_000);
}, 40_000);

it('an admitted connection keeps nothing of its request', async () => {
  const client = await stage.connect(node, alice);
  const { namespace } = node.application.nest.get(SocketServer);
  const [socket] = [...namespace.sockets.values()] as unknown as Socket[];
  const { conn } = socket as unknown as {
    conn: { request?: unknown; transport: { socket: NodeJS.EventEmitter & { _socket: NodeJS.EventEmitter } } };
  };
  expect(conn.request).toBeUndefined();
  expect(JSON.stringify(socket.handshake)).not.toContain(alice.accessToken);
  const ws = conn.transport.socket;
  // These two of Engine.IO hold the request; a version that names them differently shows here.
  expect(ws.listeners('error').map((listener) => listener.name)).not.toContain('onUpgradeError');
  expect(ws._socket.listeners('close').map(String)).not.toContain('() => this.emit("close")');
  client.close();
}, 30_000);
