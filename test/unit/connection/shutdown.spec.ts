import type { Closing } from '../../../src/connection/closing.js';
import { LocalSockets } from '../../../src/connection/local-sockets.js';
import { ShutdownService } from '../../../src/connection/shutdown.service.js';
import { asTenantId, asUserId } from '../../../src/platform/ids/ids.js';
import { Readiness } from '../../../src/platform/observe/readiness.js';
import type { ClientSocket } from '../../../src/platform/socket/socket-client.js';
import type { SocketRouter } from '../../../src/platform/socket/socket-router.js';
import type { SocketServer } from '../../../src/platform/socket/socket-server.js';

/** A node with clients, some of whom always wait for an answer; `closed` has the order in which they were told to move. */
function stage(clients: readonly string[], asking: Set<string>) {
  const local = new LocalSockets();
  const closed: string[] = [];
  for (const [index, id] of clients.entries()) {
    const actor = { tenant: asTenantId('1'), uid: asUserId(String(index)) };
    local.add({ id, data: { actor } } as unknown as ClientSocket);
  }
  const closing = {
    close: (client: ClientSocket) => {
      closed.push(client.id);
      asking.delete(client.id);
      local.remove(client);
    },
  } as unknown as Closing;
  const refused: string[] = [];
  const router = {
    refuse: (client: ClientSocket) => void refused.push(client.id),
    owesTo: (client: ClientSocket) => asking.has(client.id),
    get isBusy() {
      return asking.size > 0;
    },
  } as unknown as SocketRouter;
  const sockets = { close: async () => void closed.push('server') } as unknown as SocketServer;
  return { closed, refused, service: new ShutdownService(new Readiness(), local, closing, router, sockets) };
}

describe('the end of a node', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('moves those who wait for nothing at once, whatever others ask, and an asking one when he has his answer', async () => {
    const asking = new Set(['busy']);
    const { closed, refused, service } = stage(['busy', 'idle'], asking);
    const drained = service.drain();
    expect(closed).toEqual(['idle']);
    expect(refused).toEqual(['busy', 'idle']);
    await jest.advanceTimersByTimeAsync(3_000);
    expect(closed).toEqual(['idle']);
    asking.clear();
    await jest.advanceTimersByTimeAsync(200);
    await drained;
    expect(closed).toEqual(['idle', 'busy', 'server']);
  });

  it('has an end, also for clients whose answers never come, at a pace', async () => {
    const names = Array.from({ length: 500 }, (_, index) => `busy-${index}`);
    const { closed, refused, service } = stage(names, new Set(names));
    const drained = service.drain();
    expect(refused).toHaveLength(50);
    await jest.advanceTimersByTimeAsync(7_900);
    expect(refused).toEqual(names);
    expect(closed).toEqual([]);
    await jest.advanceTimersByTimeAsync(3_000);
    await drained;
    expect(closed).toEqual([...names, 'server']);
  });
});
