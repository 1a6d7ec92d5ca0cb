interface Running {
  pid: number;
  exited: Promise<string>;
  stop(): Promise<void>;
}
interface Supervisors {
  nextDelayMs(previousMs: number, livedMs: number): number;
  Supervised: new (options: {
    name: string;
    launch: (options: { signal: AbortSignal; isRestart: boolean }) => Promise<Running>;
    onUp?: (running: Running) => void;
    onDown?: () => void;
  }) => { start(): Promise<void>; stop(): Promise<void> };
}
interface StopControls {
  StopControl: new () => {
    ask(): void;
    whenAsked(): Promise<void>;
    signal: AbortSignal;
    hurry: AbortController;
  };
}
const { nextDelayMs, Supervised } = jest.requireActual<Supervisors>('../../../scripts/lib/supervisor');
const { StopControl } = jest.requireActual<StopControls>('../../../scripts/lib/stop-control');

beforeEach(() => {
  jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  jest.spyOn(process.stderr, 'write').mockReturnValue(true);
});
afterEach(() => jest.restoreAllMocks());

/** A stand-in for a program: `end` makes it exit. */
class FakeProgram implements Running {
  exited: Promise<string>;
  end!: (cause: string) => void;

  constructor(readonly pid: number) {
    this.exited = new Promise((resolve) => (this.end = resolve));
  }

  async stop(): Promise<void> {
    this.end('stopped');
  }
}

describe('the delay before a program is started again', () => {
  it('grows from 0.5 s to 10 s while it dies quickly and begins anew after a steady life', () => {
    const delays: number[] = [];
    for (let delayMs = 0; delays.length < 7; delays.push(delayMs)) delayMs = nextDelayMs(delayMs, 100);
    expect(delays).toEqual([500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
    expect(nextDelayMs(10_000, 10_000)).toBe(500);
  });
});

describe('a supervised program', () => {
  it('is started again when it ends, and not after stop', async () => {
    const programs: FakeProgram[] = [];
    const events: string[] = [];
    let up: () => void = () => undefined;
    const supervised = new Supervised({
      name: 'program',
      launch: async () => programs[programs.push(new FakeProgram(programs.length)) - 1] as FakeProgram,
      onUp: ({ pid }) => {
        events.push(`up ${pid}`);
        up();
      },
      onDown: () => events.push('down'),
    });
    await supervised.start();
    const again = new Promise<void>((resolve) => (up = resolve));
    programs[0]?.end('signal SIGKILL');
    await again;
    await supervised.stop();
    expect(events).toEqual(['up 0', 'down', 'up 1', 'down']);
    expect(programs).toHaveLength(2);
  });

  it('tells its first failure to the caller', async () => {
    const launch = (): Promise<Running> => Promise.reject(new Error('no program'));
    await expect(new Supervised({ name: 'program', launch }).start()).rejects.toThrow('no program');
  });

  it('is tried again when a restart fails', async () => {
    const first = new FakeProgram(1);
    const launched: boolean[] = [];
    const second = new Promise<void>((resolve) => {
      const supervised = new Supervised({
        name: 'program',
        launch: async ({ isRestart }) => {
          launched.push(isRestart);
          if (launched.length === 2) throw new Error('port is taken');
          return launched.length === 1 ? first : new FakeProgram(3);
        },
        onUp: ({ pid }) => {
          if (pid === 3) void supervised.stop().then(resolve);
        },
      });
      void supervised.start().then(() => first.end('exit code 1'));
    });
    await second;
    expect(launched).toEqual([false, true, true]);
  });
});

describe('the stop control', () => {
  it('takes a doubled signal for one and a later one for impatience', async () => {
    let nowMs = 1_000_000;
    jest.spyOn(Date, 'now').mockImplementation(() => nowMs);
    const control = new StopControl();
    expect(control.signal.aborted).toBe(false);
    control.ask();
    control.ask();
    await control.whenAsked();
    expect(control.signal.aborted).toBe(true);
    expect(control.hurry.signal.aborted).toBe(false);
    nowMs += 1_500;
    control.ask();
    expect(control.hurry.signal.aborted).toBe(true);
  });
});
