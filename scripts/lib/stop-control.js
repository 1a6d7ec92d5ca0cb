'use strict';
const { complain, say } = require('./log');
const { parentOf } = require('./processes');

// One Ctrl-C often arrives twice: from the terminal and, forwarded, from npm. Only a later one means impatience.
const sameKeypressMs = 1_000;

/** Turns signals, and the death of the npm that started us, into one "stop" and, when repeated, one "hurry". */
class StopControl {
  constructor() {
    this.stop = new AbortController();
    this.hurry = new AbortController();
    this.askedAtMs = 0;
  }

  /** A control that hears this process's signals. */
  static listen() {
    const control = new StopControl();
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => control.ask());
    control.watchParent();
    return control;
  }

  /** Aborted when the run is to end. */
  get signal() {
    return this.stop.signal;
  }

  ask() {
    if (!this.stop.signal.aborted) {
      this.askedAtMs = Date.now();
      say('Stopping ...');
      this.stop.abort();
      return;
    }
    if (Date.now() - this.askedAtMs < sameKeypressMs || this.hurry.signal.aborted) return;
    complain('Stopping at once ...');
    this.hurry.abort();
  }

  /**
   * npm passes signals on, but when it is killed outright nobody tells us: then we would run on with nobody to stop us.
   * Between npm and us there may be a shell, which outlives npm.
   */
  watchParent() {
    if (!process.env.npm_lifecycle_event) return;
    const ancestors = () => `${process.ppid} ${parentOf(process.ppid)}`;
    const atStart = ancestors();
    this.timer = setInterval(() => {
      if (ancestors() === atStart) return;
      clearInterval(this.timer);
      this.ask();
    }, 250);
    this.timer.unref();
  }

  /** Resolves when the run is to end. */
  whenAsked() {
    if (this.signal.aborted) return Promise.resolve();
    return new Promise((resolve) => this.signal.addEventListener('abort', resolve, { once: true }));
  }
}

module.exports = { StopControl };
