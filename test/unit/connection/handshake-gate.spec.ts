import { HandshakeGate } from '../../../src/connection/handshake-gate.js';
import type { Env } from '../../../src/platform/env/env.js';
import type { AppError } from '../../../src/platform/errors/app-error.js';
import { Metrics } from '../../../src/platform/observe/metrics.js';
import { Readiness } from '../../../src/platform/observe/readiness.js';

let nowMs = 0;
let gate: HandshakeGate;

beforeEach(() => {
  jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
  const readiness = new Readiness();
  readiness.start();
  gate = new HandshakeGate({ HANDSHAKES_AT_ONCE: 1 } as Env, readiness, new Metrics());
});
afterEach(() => jest.restoreAllMocks());

function refusedFor(): number {
  try {
    gate.enter()();
  } catch (error) {
    return (error as AppError).retryAfterMs!;
  }
  throw new Error('let in');
}
const longest = (count: number): number => Math.max(...Array.from({ length: count }, refusedFor));

describe('clients that are turned away', () => {
  it('are told later times the more of them there are', () => {
    const leave = gate.enter();
    expect(longest(5)).toBeLessThanOrEqual(2_000);
    expect(longest(2_000)).toBeGreaterThan(4_000);
    leave();
  });

  it('count until the time they were told, whether they come or not', () => {
    const leave = gate.enter();
    longest(20_000);
    nowMs += 31_000;
    expect(longest(20)).toBeLessThanOrEqual(2_100);
    leave();
  });

  it('count once, however often each is turned away', () => {
    const leave = gate.enter();
    // One client that comes back as told, again and again.
    let told = 0;
    for (let round = 0; round < 5_000; round += 1) {
      told = refusedFor();
      nowMs += told;
    }
    expect(told).toBeLessThanOrEqual(2_100);
    leave();
  });
});
