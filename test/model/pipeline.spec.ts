import fc from 'fast-check';
import { PipelineSchedule, type Action, type ActionKind, type LastAccident } from '../support/pipeline-schedule.js';
import { PipelineWorld, type Machine } from '../support/pipeline.js';

/** How often each kind of step comes, among all. */
const WEIGHTS: Readonly<Record<ActionKind, number>> = {
  send: 16,
  retry: 8,
  step: 80,
  lose: 5,
  cut: 14,
  read: 14,
  hear: 8,
  crash: 2,
  expire: 2,
  snapshot: 3,
  'roll-back': 2,
  flush: 1,
  'lose-key': 4,
  'end-open': 4,
};

const action: fc.Arbitrary<Action> = fc.record({
  kind: fc.oneof(
    ...Object.entries(WEIGHTS).map(([kind, weight]) => ({ weight, arbitrary: fc.constant(kind as ActionKind) })),
  ),
  a: fc.nat(999),
  b: fc.nat(999),
});

/**
 * More, or the same again: PIPELINE_RUNS, PIPELINE_SECONDS, PIPELINE_SEED and PIPELINE_PATH (a failure prints both);
 * PIPELINE_SHRINK=1 looks for the shortest schedule that fails.
 */
const { PIPELINE_RUNS, PIPELINE_SECONDS, PIPELINE_SEED, PIPELINE_PATH, PIPELINE_SHRINK } = process.env;
const LIMIT_SECONDS = Number(PIPELINE_SECONDS ?? 40);

let world: PipelineWorld;
let machines: Machine[];

beforeAll(async () => {
  // Every topic has a hot set: pages come from Redis as well as from MySQL.
  world = await PipelineWorld.open({ HOT_MIN_MEMBERS: '2' });
  machines = await Promise.all([world.machine(), world.machine(), world.machine()]);
});
afterAll(() => world.close());

it(
  'keeps the promise on real servers, whatever crashes, gets lost or goes back between two steps',
  async () => {
    let runs = 0;
    const end = performance.now() + LIMIT_SECONDS * 1_000;
    const property = fc.asyncProperty(
      fc.array(action, { minLength: 80, maxLength: 220, size: 'max' }),
      fc.constantFrom<LastAccident>(null, 'roll-back', 'flush', 'lose-key'),
      async (actions, last) => {
        // fast-check's own time limit would leave a schedule running.
        if (performance.now() > end) return;
        const schedule = await PipelineSchedule.begin(world, machines);
        const violations = await schedule.run(actions, last);
        runs += 1;
        if (violations.length > 0) throw new Error(`${violations.join('\n')}\nafter: ${schedule.log.join(', ')}`);
      },
    );
    await fc.assert(property, {
      numRuns: Number(PIPELINE_RUNS ?? 60),
      endOnFailure: PIPELINE_SHRINK !== '1',
      ...(PIPELINE_SEED === undefined ? {} : { seed: Number(PIPELINE_SEED) }),
      ...(PIPELINE_PATH === undefined ? {} : { path: PIPELINE_PATH }),
    });
    process.stdout.write(`pipeline schedules run: ${runs}\n`);
    expect(runs).toBeGreaterThan(PIPELINE_PATH === undefined ? 4 : 0);
  },
  LIMIT_SECONDS * 1_000 + 60_000,
);
