import { isEnough, restAfter } from '../../../../src/platform/socket/gathering.js';
import { RoomRounds, type Rooms } from '../../../../src/platform/socket/room-rounds.js';
import { SlowConsumers } from '../../../../src/platform/socket/slow-consumers.js';
import { WirePacket } from '../../../../src/platform/socket/wire-packet.js';
import { until } from '../../../support/until.js';

const MEMBERS = 4;
const never = (): never => {
  throw new Error('nobody is slow here');
};

/** A room whose sockets take the normal way; every write of a packet is written down. */
function stage(roundMs: number): { rounds: RoomRounds; heard: () => number[][]; roundsEnded: () => number } {
  let ended = 0;
  const heard: number[][] = Array.from({ length: MEMBERS }, () => []);
  const sockets = new Map(
    heard.map((list, index) => [
      String(index),
      {
        id: String(index),
        client: {
          conn: { readyState: 'closed', writeBuffer: [], transport: {} },
          writeToEngine: ([text]: string[]) => {
            // A kernel that takes its time.
            const untilMs = performance.now() + roundMs / MEMBERS;
            while (performance.now() < untilMs);
            list.push(Number(text));
          },
        },
      },
    ]),
  );
  const rooms: Rooms = {
    rooms: new Map([['room', new Set(sockets.keys())]]),
    nsp: { sockets },
    on: () => undefined,
  };
  const rounds = new RoomRounds(rooms, {
    direct: false,
    slow: new SlowConsumers({ behind: never, caughtUp: never, tooSlow: never }),
    mayDeliver: () => true,
    onRound: () => (ended += 1),
    sliceSockets: 1,
  });
  return { rounds, heard: () => heard, roundsEnded: () => ended };
}

describe('a room rests after a round', () => {
  it('not at all while its messages do not meet; a few times the round under load, if that is short', () => {
    expect(restAfter({ ms: 80, packets: 1, waiting: 0 })).toBe(0);
    expect(restAfter({ ms: 10, packets: 1, waiting: 1 })).toBe(60);
    expect(restAfter({ ms: 10, packets: 3, waiting: 0 })).toBe(60);
    expect(restAfter({ ms: 80, packets: 1, waiting: 1 })).toBe(40);
    expect(restAfter({ ms: 150, packets: 4, waiting: 4 })).toBe(0);
    expect(isEnough(7, 3_000)).toBe(false);
    expect(isEnough(8, 3_000)).toBe(true);
    expect(isEnough(2, 40_000)).toBe(true);
  });

  it('so that a hot room takes fewer rounds than messages, and everybody hears all in order', async () => {
    const { rounds, heard, roundsEnded } = stage(8);
    const count = 60;
    for (let number = 0; number < count; number += 1) {
      rounds.tell('room', WirePacket.ofText(String(number)));
      await new Promise((resolve) => setTimeout(resolve, 3));
    }
    await until('all is heard', () => heard().every((list) => list.length === count));
    expect(heard()).toEqual(Array.from({ length: MEMBERS }, () => Array.from({ length: count }, (_, index) => index)));
    expect(roundsEnded()).toBeLessThanOrEqual(count / 2);
  });

  it('and a message that meets no other one leaves at once', async () => {
    const { rounds, heard, roundsEnded } = stage(8);
    for (let number = 0; number < 5; number += 1) {
      rounds.tell('room', WirePacket.ofText(String(number)));
      await until('it is heard', () => heard().every((list) => list.length === number + 1));
    }
    expect(roundsEnded()).toBe(5);
  });

  it('what waits is delivered at once when something else has to follow it', () => {
    const { rounds, heard } = stage(2);
    for (let number = 0; number < 5; number += 1) rounds.tell('room', WirePacket.ofText(String(number)));
    rounds.finish('room');
    expect(heard().every((list) => list.length === 5)).toBe(true);
  });
});
