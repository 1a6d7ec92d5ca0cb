'use strict';
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { readJson, writeJson } = require('./files');

function ps(field, pid) {
  try {
    return execFileSync('ps', ['-o', `${field}=`, '-p', String(pid)], { encoding: 'utf8' }).trim() || null;
  } catch {
    return null;
  }
}

/**
 * When a process began, in the system's own notation: a pid is used again sooner or later, pid and start time are not.
 * @returns {string | null} null when no such process lives (a zombie is dead)
 */
function startTimeOf(pid) {
  if (process.platform !== 'linux') return ps('lstart', pid);
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the program's name in brackets and may hold anything, so count from the last bracket.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? null : fields[19];
  } catch {
    return null;
  }
}

/** The parent's pid; null when the process is gone, or on a system without /proc. */
function parentOf(pid) {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return null;
  }
}

/** The command line of a living process, words joined by a space; null when it cannot be read. */
function commandLineOf(pid) {
  if (process.platform !== 'linux') return ps('command', pid);
  try {
    return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ').trim() || null;
  } catch {
    return null;
  }
}

/** What proves later that a process is still the one seen now. */
function identify(pid) {
  return { pid, startTime: startTimeOf(pid), commandLine: commandLineOf(pid) };
}

/** True when the process of this identity still lives; a process that merely has the same pid does not count. */
function stillLives(identity) {
  if (!identity || !Number.isInteger(identity.pid) || identity.pid <= 1) return false;
  const startTime = startTimeOf(identity.pid);
  return startTime !== null && startTime === identity.startTime && commandLineOf(identity.pid) === identity.commandLine;
}

/** Signals a process and the group it leads (all that we start lead one); false when it is gone. */
function signalGroup(pid, signal) {
  for (const target of [-pid, pid]) {
    try {
      process.kill(target, signal);
      return true;
    } catch (error) {
      if (error.code !== 'ESRCH') throw error;
    }
  }
  return false;
}

/**
 * The processes that one run started, written down in a folder, so that the next run can end what a killed run left.
 * An entry is removed when the process has ended.
 */
class ProcessRecords {
  /**
   * @param {string} folder where the records are kept
   * @param {string} root the project folder; records copied along with a folder must not be taken for its own
   */
  constructor(folder, root) {
    this.folder = folder;
    this.root = root;
  }

  add(name, pid) {
    fs.mkdirSync(this.folder, { recursive: true });
    writeJson(path.join(this.folder, `${name}.json`), { root: this.root, ...identify(pid) });
  }

  remove(name) {
    fs.rmSync(path.join(this.folder, `${name}.json`), { force: true });
  }

  /** Records of processes that still live, nodes first: they want their servers while they end. */
  living() {
    const names = fs.existsSync(this.folder) ? fs.readdirSync(this.folder).filter((name) => /\.json$/.test(name)) : [];
    const records = names.map((file) => ({
      name: file.replace(/\.json$/, ''),
      ...readJson(path.join(this.folder, file)),
    }));
    return records
      .filter((record) => record.root === this.root && stillLives(record))
      .sort((a, b) => Number(b.name.startsWith('node-')) - Number(a.name.startsWith('node-')));
  }

  /**
   * Ends what an earlier run left behind and forgets all records.
   * @param {number} graceMs from SIGTERM to SIGKILL, for each process
   * @returns {Promise<string[]>} the names of what was ended
   */
  async endLeftovers(graceMs = 10_000) {
    const left = this.living();
    for (const record of left) await endProcess(record, graceMs);
    fs.rmSync(this.folder, { recursive: true, force: true });
    return left.map((record) => record.name);
  }
}

/** SIGTERM, and SIGKILL after `graceMs` when that did not help; returns once the process is gone. */
async function endProcess(identity, graceMs) {
  if (!stillLives(identity)) return;
  signalGroup(identity.pid, 'SIGTERM');
  const deadlineMs = Date.now() + graceMs;
  while (stillLives(identity) && Date.now() < deadlineMs) await sleep(50);
  while (stillLives(identity)) {
    signalGroup(identity.pid, 'SIGKILL');
    await sleep(50);
  }
  // The leader is gone; what it started may have stayed. While it does, the number of its group is not used again.
  killGroup(identity.pid);
}

function killGroup(leader) {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

module.exports = {
  startTimeOf,
  parentOf,
  commandLineOf,
  identify,
  stillLives,
  signalGroup,
  endProcess,
  ProcessRecords,
};
