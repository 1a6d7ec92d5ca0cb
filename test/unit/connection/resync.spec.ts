import { MembershipService } from '../../../src/connection/membership.service.js';
import { LocalSockets } from '../../../src/connection/local-sockets.js';
import { ResyncService } from '../../../src/connection/resync.service.js';
import type { GroupService } from '../../../src/modules/group/group.service.js';
import type { PresenceService } from '../../../src/modules/presence/presence.service.js';
import { asTenantId, asTopic, asUserId, type TenantId, type Topic } from '../../../src/platform/ids/ids.js';
import type { Logger } from '../../../src/platform/observe/logger.js';
import type { NodeBus } from '../../../src/platform/redis/node-bus.js';
import { topicRoom } from '../../../src/platform/socket/rooms.js';
import type { ClientSocket } from '../../../src/platform/socket/socket-client.js';
import type { SocketServer } from '../../../src/platform/socket/socket-server.js';

const [ONE, TWO] = [asTenantId('1'), asTenantId('2')];
const GROUP = asTopic('grp_7');
const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

/** Memberships are read when the test says so; `read` holds the readers of each tenant, in order. */
function stage() {
  let gate: (room: string) => boolean = () => true;
  let lose: () => void = () => undefined;
  const read: Record<TenantId, ((topics: Topic[] | Error) => void)[]> = { [ONE]: [], [TWO]: [] };
  let losePublish: () => void = () => undefined;
  const words: boolean[] = [];
  const told: string[] = [];
  const bus = {
    onTold: () => undefined,
    tellAll: async (kind: string) => {
      told.push(kind);
      if (words.shift() === false) throw new Error('Redis is away');
    },
  } as unknown as NodeBus;
  const sockets = {
    onGap: () => undefined,
    onPublishLost: (listener: () => void) => (losePublish = listener),
    setGate: (given: typeof gate) => (gate = given),
    subscribed: async () => true,
    emitTo: () => undefined,
  } as unknown as SocketServer;
  const topicsOf = (tenant: TenantId): Promise<Topic[]> =>
    new Promise((resolve, reject) => {
      read[tenant].push((topics) => (topics instanceof Error ? reject(topics) : resolve(topics)));
    });
  const groups = { topicsOf, topicsFromMysql: topicsOf } as unknown as GroupService;
  const presence = {
    leaseStands: true,
    nodeId: 'this',
    onOthersGone: () => undefined,
    onLeaseLost: (listener: () => void) => (lose = listener),
  } as unknown as PresenceService;
  const log = { warn: () => undefined } as unknown as Logger;
  const local = new LocalSockets();
  const membership = new MembershipService(groups, local, sockets, {} as NodeBus, log);
  new ResyncService(sockets, presence, membership, local, bus, log).onApplicationBootstrap();

  const enter = (tenant: TenantId): ClientSocket => {
    const rooms = new Set([topicRoom(tenant, GROUP)]);
    const client = {
      connected: true,
      rooms,
      join: (names: string[]) => names.forEach((name) => rooms.add(name)),
      leave: (name: string) => rooms.delete(name),
      data: { actor: { tenant, uid: asUserId('20') }, subscribe: 'all', membershipChanges: 0 },
    } as unknown as ClientSocket;
    local.add(client);
    return client;
  };
  return {
    enter,
    read,
    membership,
    words,
    told,
    losePublish: () => losePublish(),
    lose: () => lose(),
    delivers: (tenant: TenantId) => gate(topicRoom(tenant, GROUP)),
  };
}

describe('after a lease was lost', () => {
  it('a tenant whose memberships cannot be read keeps no other tenant from its messages', async () => {
    const { enter, read, lose, delivers } = stage();
    enter(ONE);
    enter(TWO);
    lose();
    expect([delivers(ONE), delivers(TWO)]).toEqual([false, false]);
    read[ONE].shift()!(new Error('the database is away'));
    read[TWO].shift()!([GROUP]);
    await turns();
    expect([delivers(ONE), delivers(TWO)]).toEqual([false, true]);
  });

  it('what was read before the loss joins nobody: he may have been kicked since', async () => {
    const { enter, read, lose, membership, delivers } = stage();
    const client = enter(ONE);
    const joining = membership.joinAll(client);
    const [early] = read[ONE].splice(0);
    lose();
    read[ONE].shift()!([]);
    await turns();
    expect(client.rooms.size).toBe(0);
    expect(delivers(ONE)).toBe(true);
    early([GROUP]);
    await turns();
    expect(client.rooms.size).toBe(0);
    read[ONE].shift()!([]);
    expect(await joining).toBe(0);
  });

  it('a second loss waits for a reading of its own', async () => {
    const { enter, read, lose, delivers } = stage();
    enter(ONE);
    lose();
    const [first] = read[ONE].splice(0);
    lose();
    first([GROUP]);
    await turns();
    expect(delivers(ONE)).toBe(false);
    while (read[ONE].length > 0) {
      read[ONE].shift()!([GROUP]);
      await turns();
    }
    expect(delivers(ONE)).toBe(true);
  });
});

describe('a frame that could not be published', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('is told to all nodes until that gets through, many at once, and later ones anew', async () => {
    const { words, told, losePublish } = stage();
    words.push(false, false);
    for (let frame = 0; frame < 100; frame += 1) losePublish();
    await jest.advanceTimersByTimeAsync(10_000);
    expect(told).toEqual(Array.from({ length: 3 }, () => 'realtime:lost'));
    losePublish();
    await jest.advanceTimersByTimeAsync(10_000);
    expect(told).toHaveLength(4);
  });
});
