import { Watches } from '../../../src/modules/presence/watches.js';
import type { Announcer } from '../../../src/modules/presence/announcer.js';
import type { PresenceQuery } from '../../../src/modules/presence/presence-query.js';
import type { PresenceChange } from '../../../src/modules/presence/presence.types.js';
import type { UserState } from '../../../src/modules/presence/session.redis.js';
import type { PresenceStates } from '../../../src/modules/presence/states.js';
import { asTenantId, asUserId, type UserId } from '../../../src/platform/ids/ids.js';
import type { Logger } from '../../../src/platform/observe/logger.js';
import { Metrics } from '../../../src/platform/observe/metrics.js';
import type { ClientSocket } from '../../../src/platform/socket/socket-client.js';
import type { SocketServer } from '../../../src/platform/socket/socket-server.js';
import { FULL_SIGHT, NO_SIGHT, type PresenceSight } from '../../../src/modules/relation/relation.types.js';

const tenant = asTenantId('1');
const ALICE = asUserId('10');
const stateOf = (online: boolean, version: number): UserState => ({ online, version, lastSeenMs: 0, devices: [] });
const change = (online: boolean, version: number): PresenceChange => ({
  tenant,
  uid: ALICE,
  online,
  version,
  lastSeenMs: 0,
});

/** Reads are answered when the test says so: what comes between asking and the answer is what is tried here. */
function stage() {
  let hear: (changes: readonly PresenceChange[]) => void = () => undefined;
  const reads: ((states: Map<UserId, UserState> | null) => void)[] = [];
  const told: string[] = [];
  let sightsOf = async (uids: UserId[]) => new Map<UserId, PresenceSight>(uids.map((uid) => [uid, FULL_SIGHT]));
  /** From now on sights are answered one by one, by the functions that are returned. */
  const holdSights = () => {
    const asked: ((sight: PresenceSight | Error) => void)[] = [];
    sightsOf = (uids) =>
      new Promise((resolve, reject) =>
        asked.push((sight) => {
          if (sight instanceof Error) reject(sight);
          else resolve(new Map(uids.map((uid) => [uid, sight])));
        }),
      );
    return asked;
  };
  const announcer = { onChanges: (listener: typeof hear) => (hear = listener) };
  const query = {
    sights: (_: unknown, __: unknown, uids: UserId[]) => sightsOf(uids),
    compose: async (
      _: unknown,
      uids: UserId[],
      sights: Map<UserId, PresenceSight>,
      states: Map<UserId, UserState> | null,
    ) =>
      uids.map((uid) => {
        if (!sights.get(uid)!.presence) return { uid, state: 'hidden' };
        return { uid, state: states ? (states.get(uid)!.online ? 'online' : 'offline') : 'unknown' };
      }),
    presences: async () => [],
  };
  const states = { read: () => new Promise<Map<UserId, UserState> | null>((resolve) => reads.push(resolve)) };
  const sockets = {
    emitTo: (client: { id: string }, _: string, { state }: { state: string }) => told.push(`${client.id}:${state}`),
  };
  const log = { debug: () => undefined };
  const watches = new Watches(
    announcer as unknown as Announcer,
    query as unknown as PresenceQuery,
    states as unknown as PresenceStates,
    sockets as unknown as SocketServer,
    log as unknown as Logger,
    new Metrics(),
  );
  watches.onModuleInit();
  const client = (id: string): ClientSocket =>
    ({
      id,
      connected: true,
      data: { actor: { tenant, uid: asUserId('20'), sessionId: '1' } },
    }) as unknown as ClientSocket;
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const answer = async (state: UserState | null): Promise<void> => {
    await turn();
    reads.shift()!(state && new Map([[ALICE, state]]));
    await turn();
  };
  return { watches, told, client, answer, turn, holdSights, hear: (one: PresenceChange) => hear([one]) };
}

describe('watches', () => {
  it('a block that comes while somebody begins to watch is not missed', async () => {
    const { watches, told, client, answer, turn, hear, holdSights } = stage();
    const asked = holdSights();
    const watching = watches.watch(client('a'), [ALICE]);
    await watches.sightChanged(tenant, ALICE);
    asked[0](FULL_SIGHT);
    await turn();
    asked[1](NO_SIGHT);
    await answer(stateOf(true, 1));
    expect(await watching).toEqual([{ uid: ALICE, state: 'hidden' }]);
    hear(change(false, 2));
    expect(told).toEqual([]);
    watches.onApplicationShutdown();
  });

  it('of two looks at what may be seen the one that was read first does not have the last word', async () => {
    const { watches, told, client, answer, turn, hear, holdSights } = stage();
    const watching = watches.watch(client('a'), [ALICE]);
    await answer(stateOf(true, 1));
    await watching;
    const asked = holdSights();
    const [first, second] = [watches.sightChanged(tenant, ALICE), watches.sightChanged(tenant, ALICE)];
    asked[1](NO_SIGHT);
    await second;
    asked[0](FULL_SIGHT);
    await turn();
    asked[2](NO_SIGHT);
    await first;
    hear(change(false, 2));
    expect(told).toEqual(['a:hidden']);
    watches.onApplicationShutdown();
  });

  it('a change that comes while the state is read is newer than what is read, and is the answer', async () => {
    const { watches, told, client, answer, turn, hear } = stage();
    const asked = watches.watch(client('a'), [ALICE]);
    await turn();
    hear(change(false, 5));
    await answer(stateOf(true, 4));
    expect(await asked).toEqual([{ uid: ALICE, state: 'offline' }]);
    expect(told).toEqual(['a:offline']);
    watches.onApplicationShutdown();
  });

  it('an older change that is told late changes nothing; one told twice is told once', async () => {
    const { watches, told, client, answer, hear } = stage();
    const asked = watches.watch(client('a'), [ALICE]);
    await answer(stateOf(true, 7));
    expect(await asked).toEqual([{ uid: ALICE, state: 'online' }]);
    hear(change(false, 6));
    expect(told).toEqual([]);
    hear(change(false, 8));
    hear(change(false, 8));
    hear(change(true, 7));
    expect(told).toEqual(['a:offline']);
    watches.onApplicationShutdown();
  });

  it('who asks later and learns something new makes it known to the others', async () => {
    const { watches, told, client, answer } = stage();
    const first = watches.watch(client('a'), [ALICE]);
    await answer(stateOf(true, 7));
    await first;
    const second = watches.watch(client('b'), [ALICE]);
    await answer(stateOf(false, 9));
    expect(await second).toEqual([{ uid: ALICE, state: 'offline' }]);
    expect(told).toEqual(['a:offline']);
    watches.onApplicationShutdown();
  });

  it('after an unknown answer the state is told as soon as it is known', async () => {
    const { watches, told, client, answer } = stage();
    const asked = watches.watch(client('a'), [ALICE]);
    await answer(null);
    expect(await asked).toEqual([{ uid: ALICE, state: 'unknown' }]);
    const again = watches.recheckAll();
    await answer(stateOf(true, 3));
    await again;
    expect(told).toEqual(['a:online']);
    watches.onApplicationShutdown();
  });

  it('after a gap the clock of Redis may have gone back: what is read then is believed', async () => {
    const { watches, told, client, answer, hear } = stage();
    const asked = watches.watch(client('a'), [ALICE]);
    await answer(stateOf(true, 1_000));
    await asked;
    const again = watches.recheckAll();
    await answer(stateOf(false, 500));
    await again;
    hear(change(true, 501));
    expect(told).toEqual(['a:offline', 'a:online']);
    watches.onApplicationShutdown();
  });

  it('after a gap what may be seen is read anew, too, and again until that succeeds', async () => {
    const { watches, told, client, answer, turn, hear, holdSights } = stage();
    const watching = watches.watch(client('a'), [ALICE]);
    await answer(stateOf(true, 1));
    await watching;
    const asked = holdSights();
    const again = watches.recheckAll(true);
    asked[0](NO_SIGHT);
    await answer(stateOf(true, 1));
    await again;
    hear(change(false, 2));
    expect(told).toEqual(['a:hidden']);
    // One without a gap reads states alone.
    const states = watches.recheckAll();
    await answer(stateOf(false, 2));
    await states;
    expect(asked).toHaveLength(1);
    await turn();
    watches.onApplicationShutdown();
  });

  it('sights that could not be read after a gap are read with the next recheck', async () => {
    const { watches, told, client, answer, holdSights } = stage();
    const watching = watches.watch(client('a'), [ALICE]);
    await answer(stateOf(true, 1));
    await watching;
    const asked = holdSights();
    const failing = watches.recheckAll(true);
    asked[0](new Error('the database is away'));
    await failing;
    expect(told).toEqual([]);
    const again = watches.recheckAll();
    asked[1](NO_SIGHT);
    await answer(stateOf(true, 1));
    await again;
    expect(told).toEqual(['a:hidden']);
    watches.onApplicationShutdown();
  });

  it('a socket that is gone is told nothing, and nobody is kept for it', async () => {
    const { watches, told, client, answer, hear } = stage();
    const gone = client('a');
    const asked = watches.watch(gone, [ALICE]);
    await answer(stateOf(true, 1));
    await asked;
    watches.forget(gone);
    hear(change(false, 2));
    expect(told).toEqual([]);
    watches.onApplicationShutdown();
  });
});
