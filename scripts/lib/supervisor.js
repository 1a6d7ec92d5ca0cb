'use strict';
const { setTimeout: sleep } = require('node:timers/promises');
const { Stopped, explain } = require('./errors');
const { say } = require('./log');

const firstDelayMs = 500;
const longestDelayMs = 10_000;
const steadyAfterMs = 10_000; // what lived this long did not die quickly

/** How long to wait before a start, after one that lived `livedMs` and was itself started after `previousMs`. */
function nextDelayMs(previousMs, livedMs) {
  if (livedMs >= steadyAfterMs || previousMs === 0) return firstDelayMs;
  return Math.min(previousMs * 2, longestDelayMs);
}

/**
 * Something that runs as long as we do.
 * @typedef {object} Running
 * @property {number} pid
 * @property {Promise<string>} exited
 * @property {(hurry?: AbortSignal) => Promise<void>} stop
 */

/** Keeps one program running: started once by `start`, and again whenever it ends, until `stop`. */
class Supervised {
  /**
   * @param {object} options
   * @param {string} options.name for messages
   * @param {(options: { signal: AbortSignal, isRestart: boolean }) => Promise<Running>} options.launch resolves when ready
   * @param {(running: Running) => void} [options.onUp] when it is ready, each time
   * @param {() => void} [options.onDown] when it ended
   * @param {number} [options.firstDelayMs] shorter in tests
   */
  constructor({ name, launch, onUp = () => {}, onDown = () => {} }) {
    Object.assign(this, { name, launch, onUp, onDown });
    this.running = undefined;
    this.stopping = new AbortController();
    this.loop = Promise.resolve();
    this.delayMs = 0;
  }

  /** Starts it; a failure of this first start is the caller's. */
  async start() {
    await this.up(false);
    this.loop = this.keepUp();
  }

  async up(isRestart) {
    const running = await this.launch({ signal: this.stopping.signal, isRestart });
    this.running = running;
    this.upAtMs = Date.now();
    if (!this.stopping.signal.aborted) this.onUp(running);
  }

  async keepUp() {
    for (;;) {
      const cause = await this.running.exited;
      this.onDown();
      if (this.stopping.signal.aborted) return;
      say(`${this.name} ended (${cause}); starting it again`);
      if (!(await this.restart())) return;
      say(`${this.name} is back (pid ${this.running.pid})`);
    }
  }

  /** Tries until it is up; false when asked to stop meanwhile. */
  async restart() {
    let livedMs = Date.now() - this.upAtMs;
    for (;;) {
      this.delayMs = nextDelayMs(this.delayMs, livedMs);
      await sleep(this.delayMs, undefined, { signal: this.stopping.signal }).catch(() => {});
      if (this.stopping.signal.aborted) return false;
      try {
        await this.up(true);
        return true;
      } catch (error) {
        if (error instanceof Stopped) return false;
        say(`${this.name} did not start: ${explain(error)}`);
        livedMs = 0;
      }
    }
  }

  /** Ends it and no longer starts it again; resolves when it is gone. */
  async stop(hurry) {
    this.stopping.abort();
    await this.running?.stop(hurry);
    await this.loop;
    // A start that was under way when we were asked may have come up after all.
    await this.running?.stop(hurry);
  }
}

module.exports = { Supervised, nextDelayMs };
