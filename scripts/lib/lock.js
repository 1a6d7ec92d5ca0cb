'use strict';
const fs = require('node:fs');
const { setTimeout: sleep } = require('node:timers/promises');
const { readJson, writeJson } = require('./files');
const { identify, stillLives } = require('./processes');

/**
 * A lock file that holds who has it. A lock whose holder is dead is taken over. A holder that says it is stopping is
 * waited for, so that "stop, start" in a script works without a pause.
 */
class RunLock {
  constructor(file) {
    this.file = file;
    this.held = false;
  }

  /** The living holder's record, or undefined. */
  holder() {
    const record = readJson(this.file);
    return stillLives(record) ? record : undefined;
  }

  /**
   * Takes the lock.
   * @param {object} options
   * @param {number} options.stoppingMs how long a holder that is stopping is waited for
   * @param {number} options.noticeMs how long a holder gets to notice that it has to stop (its npm was just killed)
   * @param {() => void} options.onWait called once when a stopping holder is waited for
   * @returns {Promise<number | undefined>} undefined when taken, else the pid of the holder
   */
  async take({ stoppingMs = 45_000, noticeMs = 1_500, onWait = () => {} } = {}) {
    const beganAtMs = Date.now();
    let told = false;
    for (;;) {
      if (this.tryTake()) return undefined;
      const holder = this.holder();
      if (holder) {
        if (holder.stopping && !told) onWait();
        told ||= Boolean(holder.stopping);
        if (Date.now() - beganAtMs > (holder.stopping ? stoppingMs : noticeMs)) return holder.pid;
        await sleep(50);
      }
    }
  }

  tryTake() {
    if (this.holder()) return false;
    // A dead holder's file is moved away and looked at again: between the look and the move another run may have taken it.
    const aside = `${this.file}.${process.pid}.old`;
    try {
      fs.renameSync(this.file, aside);
      if (stillLives(readJson(aside))) fs.linkSync(aside, this.file);
      fs.rmSync(aside, { force: true });
    } catch (error) {
      if (error.code !== 'ENOENT' && error.code !== 'EEXIST') throw error;
    }
    const mine = `${this.file}.${process.pid}.new`;
    writeJson(mine, identify(process.pid));
    try {
      fs.linkSync(mine, this.file); // fails when the file exists: of two runs one wins
      this.held = true;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    } finally {
      fs.rmSync(mine, { force: true });
    }
    return this.held;
  }

  markStopping() {
    if (this.held) writeJson(this.file, { ...identify(process.pid), stopping: true });
  }

  release() {
    if (this.held) fs.rmSync(this.file, { force: true });
    this.held = false;
  }
}

module.exports = { RunLock };
