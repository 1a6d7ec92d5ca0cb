import { runModel } from './numbering-schedule.js';
import { CORE, EXTENDED, mistaken, without, type Mistake, type Rule } from './numbering-settings.js';

/** More by MODEL_SCHEDULES. */
const SCHEDULES = Number(process.env.MODEL_SCHEDULES ?? 2_500);
/** Within so many schedules every wrong rule is caught. */
const CAUGHT_WITHIN = 8_000;

const numbering = { name: 'numbering', settings: CORE };
const pipeline = { name: 'the whole pipeline', settings: EXTENDED };

describe.each([numbering, pipeline])('$name, in random schedules', ({ settings }) => {
  it('keeps the promise', () => {
    const result = runModel(settings, SCHEDULES);
    expect(result.violation).toBeNull();
    // A model in which nothing gets through would hold as well.
    expect(result.acked).toBeGreaterThan(SCHEDULES);
  });
});

describe('each rule is there because an accident happens without it', () => {
  const needed: readonly (readonly [Rule, typeof numbering, RegExp])[] = [
    ['fence', numbering, /hole|stays|twice/],
    ['deadline', numbering, /stays|resume/],
    ['tombstone', numbering, /hole/],
    ['new-epoch', numbering, /hole|stays/],
    ['fence', pipeline, /hole|stays|twice/],
    ['tombstone', pipeline, /hole/],
    ['entries', pipeline, /hole/],
    ['run-id', pipeline, /hole|stays/],
    ['read-rebase', pipeline, /stays/],
  ];
  it.each(needed)('%s', (rule, { settings }, what) => {
    expect(runModel(without(settings, rule), CAUGHT_WITHIN).violation).toMatch(what);
  });
});

describe('what looks right and is not', () => {
  const wrong: readonly (readonly [Mistake, typeof numbering, RegExp])[] = [
    ['plain-cas', numbering, /resume|stays/],
    ['cas-on-missing', numbering, /hole/],
    ['lookup-decides', pipeline, /hole/],
    ['keep-counter', pipeline, /hole/],
  ];
  it.each(wrong)('%s', (mistake, { settings }, what) => {
    expect(runModel(mistaken(settings, mistake), CAUGHT_WITHIN).violation).toMatch(what);
  });
});
