'use strict';
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const { setTimeout: sleep } = require('node:timers/promises');
const { Stopped, UserError, mentionsFullDisk } = require('./errors');
const { lastLines } = require('./files');
const { signalGroup } = require('./processes');

const alive = new Set();
// The last resort when this process ends without its orderly stop: nothing it started may outlive it.
process.once('exit', () => {
  for (const child of alive) signalGroup(child.pid, 'SIGTERM');
});

/** A long-running program that we started, in a process group of its own so that Ctrl-C reaches only us. */
class Child {
  /**
   * @param {object} options
   * @param {string} options.name for records and messages
   * @param {string} options.command
   * @param {string[]} options.args
   * @param {string} options.logFile its output is appended there
   * @param {string} [options.cwd]
   * @param {NodeJS.ProcessEnv} [options.env]
   * @param {import('./processes').ProcessRecords} [options.records]
   */
  constructor({ name, command, args, logFile, cwd, env, records }) {
    this.name = name;
    this.logFile = logFile;
    const log = fs.openSync(logFile, 'a');
    this.process = spawn(command, args, { cwd, env, stdio: ['ignore', log, log], detached: true });
    fs.closeSync(log);
    this.pid = this.process.pid;
    this.hasExited = false;
    if (this.pid) {
      alive.add(this);
      records?.add(name, this.pid);
    }
    /** Resolves with what ended it, in words; never rejects. */
    this.exited = new Promise((resolve) => {
      const done = (how) => {
        this.hasExited = true;
        alive.delete(this);
        records?.remove(name);
        resolve(how);
      };
      this.process.once('error', (error) => done(error.message));
      this.process.once('exit', (code, signal) => done(signal ? `signal ${signal}` : `exit code ${code}`));
    });
  }

  kill(signal = 'SIGKILL') {
    if (!this.hasExited && this.pid) signalGroup(this.pid, signal);
  }

  /**
   * SIGTERM, then SIGKILL after `graceMs`, or at once when `hurry` is aborted; resolves when it is gone.
   * @param {number} graceMs
   * @param {AbortSignal} [hurry]
   */
  async stop(graceMs, hurry) {
    if (this.hasExited) return;
    this.kill(hurry?.aborted ? 'SIGKILL' : 'SIGTERM');
    const finish = () => this.kill('SIGKILL');
    const timer = setTimeout(finish, graceMs);
    hurry?.addEventListener('abort', finish, { once: true });
    await this.exited;
    clearTimeout(timer);
    hurry?.removeEventListener('abort', finish);
  }

  /**
   * Waits until `isReady` says so. When the program ends first, takes longer than `timeoutMs`, or `signal` is aborted, it
   * is ended and the wait fails.
   * @param {() => Promise<boolean>} isReady
   * @param {object} [options]
   * @param {number} [options.timeoutMs]
   * @param {AbortSignal} [options.signal]
   * @param {number} [options.settleMs] how long it may still come up after an abort before it is ended; for a program that
   *   must not be told to end while it starts
   */
  async waitUntil(isReady, { timeoutMs = 120_000, signal, settleMs = 0 } = {}) {
    const deadlineMs = Date.now() + timeoutMs;
    while (!(await isReady())) {
      if (signal?.aborted) {
        await this.breakOff(isReady, settleMs);
        throw new Stopped();
      }
      if (this.hasExited) throw new UserError(`${this.name} ended at once (${await this.exited}).${this.lastWords()}`);
      if (Date.now() > deadlineMs) {
        await this.stop(5_000);
        throw new UserError(`${this.name} was not ready within ${timeoutMs / 1000} s.${this.lastWords()}`);
      }
      await sleep(50);
    }
  }

  async breakOff(isReady, settleMs) {
    const deadlineMs = Date.now() + settleMs;
    while (!this.hasExited && Date.now() < deadlineMs && !(await isReady())) await sleep(50);
    await this.stop(5_000);
  }

  lastWords() {
    if (mentionsFullDisk(lastLines(this.logFile, 50)))
      return ' The disk is full: free some space and run the command again.';
    const lines = lastLines(this.logFile).replace(/^/gm, '    ');
    return ` Its log, ${this.logFile}, ends with:\n${lines}`;
  }
}

module.exports = { Child };
