import fc from 'fast-check';
import { Adapter } from 'socket.io-adapter';
import { whyNotDirect } from '../../../../src/platform/socket/direct-write.js';
import { fanoutAdapter } from '../../../../src/platform/socket/fanout-adapter.js';
import type { WriteCounts } from '../../../../src/platform/socket/room-rounds.js';
import { SlowConsumers } from '../../../../src/platform/socket/slow-consumers.js';
import { until } from '../../../support/until.js';
import { RawMember, SocketStage, turn } from './raw-members.js';

const MEMBERS = 7;
const ROOMS = 2;
/** Below, at and above the borders of WebSocket's three lengths of a frame's head. */
const SIZES = [0, 60, 110, 125, 126, 4_000, 65_520, 65_540, 70_000];
const NO_LIMITS = { behindBytes: Infinity, tooSlowBytes: Infinity, tooSlowPackets: Infinity, behindMs: Infinity };

const total = { direct: 0, normal: 0, dropped: 0 };
const count = (counts: WriteCounts): void => {
  total.direct += counts.direct;
  total.normal += counts.normal;
  total.dropped += counts.dropped;
};
const never = (): never => {
  throw new Error('nobody is slow here');
};
/** Slices of two sockets, so that much can happen between them. */
const ours = fanoutAdapter((namespace: ConstructorParameters<typeof Adapter>[0]) => new Adapter(namespace), {
  direct: true,
  slow: new SlowConsumers({ behind: never, caughtUp: never, tooSlow: never }, NO_LIMITS),
  mayDeliver: () => true,
  onWrites: count,
  sliceSockets: 2,
});

let stages: SocketStage[];
let members: RawMember[][];
let runs = 0;

beforeAll(async () => {
  stages = [await SocketStage.open(), await SocketStage.open(ours)];
  members = await Promise.all(
    stages.map(async (stage) => {
      const all: RawMember[] = [];
      for (let index = 0; index < MEMBERS; index += 1) all.push(await RawMember.join(stage));
      return all;
    }),
  );
});
afterAll(async () => {
  for (const member of members.flat()) member.tcp.destroy();
  await Promise.all(stages.map((stage) => stage.close()));
});

type Act = (side: number, rooms: readonly string[], step: number) => void;

const member = fc.nat({ max: MEMBERS - 1 });
const room = fc.nat({ max: ROOMS - 1 });
const size = fc.constantFrom(...SIZES);
const emit = (at: { emit(event: string, ...args: unknown[]): unknown }, step: number, bytes: number): void =>
  void at.emit('told', step, '\u00e9x'.repeat(bytes / 3), { step });

const titled = (title: string, act: Act): { title: string; act: Act } => ({ title, act });
const tell =
  (to: number, bytes: number): Act =>
  (side, rooms, step) =>
    emit(stages[side].io.to(rooms[to]), step, bytes);
const join =
  (who: number, to: number): Act =>
  (side, rooms) =>
    void members[side][who].socket.join(rooms[to]);
const leave =
  (who: number, from: number): Act =>
  (side, rooms) =>
    void members[side][who].socket.leave(rooms[from]);
const sayTo =
  (who: number): Act =>
  (side, _rooms, step) =>
    emit(members[side][who].socket, step, 60);
const tellBinary =
  (to: number): Act =>
  (side, rooms, step) =>
    void stages[side].io.to(rooms[to]).emit('told', step, Buffer.from([1, 2, 3]));
const tellOthers =
  (who: number, to: number): Act =>
  (side, rooms, step) =>
    emit(members[side][who].socket.to(rooms[to]), step, 60);
const tellAll: Act = (side, rooms, step) => emit(stages[side].io.to([...rooms]), step, 60);

const acts: fc.Arbitrary<{ title: string; act: Act | null }> = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(room, size).map(([to, bytes]) => titled(`tell ${to} ${bytes}`, tell(to, bytes))) },
  { weight: 4, arbitrary: fc.tuple(member, room).map(([who, to]) => titled(`join ${who} ${to}`, join(who, to))) },
  {
    weight: 3,
    arbitrary: fc.tuple(member, room).map(([who, from]) => titled(`leave ${who} ${from}`, leave(who, from))),
  },
  { weight: 5, arbitrary: fc.constant({ title: 'turn', act: null }) },
  { weight: 1, arbitrary: member.map((who) => titled(`say to ${who}`, sayTo(who))) },
  { weight: 1, arbitrary: room.map((to) => titled(`binary to ${to}`, tellBinary(to))) },
  {
    weight: 1,
    arbitrary: fc.tuple(member, room).map(([who, to]) => titled(`all of ${to} but ${who}`, tellOthers(who, to))),
  },
  { weight: 1, arbitrary: fc.constant(titled('tell all rooms', tellAll)) },
);

const ended = (raw: RawMember): boolean => raw.events.some((event) => event.includes('["end"]'));

/** What each member heard of one room or directly, in order: order between rooms is not promised. */
const heard = (side: number, who: number, acted: readonly { readonly title: string }[]): Map<string, string[]> => {
  const lists = new Map<string, string[]>();
  for (const event of members[side][who].events) {
    const step = /^.{2,10}?4(?:2|51-)\["told",(\d+)/s.exec(event)?.[1];
    const { title } = acted[Number(step)];
    const kind =
      title === 'tell all rooms' ? title : title.startsWith('say') ? 'direct' : `room ${/\d/.exec(title)?.[0]}`;
    lists.set(kind, [...(lists.get(kind) ?? []), event]);
  }
  return lists;
};

it('direct frames, batches and slices give each socket the very bytes that the normal adapter gives it, in order', async () => {
  const scripts = fc.array(acts, { minLength: 5, maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(scripts, async (script) => {
      runs += 1;
      const rooms = Array.from({ length: ROOMS }, (_, index) => `run-${runs}-room-${index}`);
      for (const all of members) for (const raw of all) raw.frames.length = 0;
      // Half of them are there from the start, more than fit into one slice.
      for (const side of [0, 1])
        for (let who = 0; who < 5; who += 1) for (const to of rooms) void members[side][who].socket.join(to);
      for (const [step, { act }] of script.entries()) {
        if (act === null) await turn();
        else for (const side of [0, 1]) act(side, rooms, step);
      }
      for (const raw of members[0]) raw.socket.emit('end');
      await until('the one side has heard the end', () => members[0].every(ended));
      // Rooms under load rest between their rounds.
      const heardBy = (side: number): number => members[side].reduce((sum, raw) => sum + raw.events.length, 0);
      await until('the other side has heard as much', () => heardBy(1) >= heardBy(0) - MEMBERS);
      for (const raw of members[1]) raw.socket.emit('end');
      await until('it has heard the end', () => members[1].every(ended));
      for (const raw of members.flat())
        raw.frames.splice(
          raw.frames.findIndex((frame) => frame.includes('["end"]')),
          1,
        );
      for (let who = 0; who < MEMBERS; who += 1) expect(heard(1, who, script)).toEqual(heard(0, who, script));
    }),
    { numRuns: 150 },
  );
  // Both ways were taken, or nothing was compared.
  expect(total.direct).toBeGreaterThan(1_000);
  expect(total.normal).toBeGreaterThan(100);
  expect(total.dropped).toBe(0);
}, 120_000);

it('the installed versions are those whose insides were read; with compression on, frames take the normal way', async () => {
  expect(whyNotDirect(stages[1].io)).toBeNull();
  const compressing = await SocketStage.open(ours, { perMessageDeflate: true });
  expect(whyNotDirect(compressing.io)).toMatch(/perMessageDeflate/);
  await compressing.close();
});

it('a reader that pauses gets everything whole and in order when it goes on', async () => {
  const [, own] = stages;
  const [paused, ...others] = members[1];
  for (const raw of members[1]) {
    raw.frames.length = 0;
    void raw.socket.join('paused');
  }
  paused.tcp.pause();
  const before = total.direct;
  const text = 'x'.repeat(60_000);
  const frames = 400;
  for (let index = 0; index < frames; index += 1) {
    own.io.to('paused').emit('told', index, text);
    await turn();
  }
  await until('the others have it all', () => others.every((raw) => raw.events.length === frames), 20_000);
  expect(paused.events.length).toBeLessThan(frames);
  expect(total.direct).toBeGreaterThan(before);
  paused.tcp.resume();
  await until('so has it', () => paused.events.length === frames, 20_000);
  expect(paused.events).toEqual(others[0].events);
}, 60_000);
