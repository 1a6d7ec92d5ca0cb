'use strict';
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const { Stopped, UserError, mentionsFullDisk } = require('./errors');
const { signalGroup } = require('./processes');

let commands = 0;

/**
 * Runs a command to its end.
 * @param {string} command
 * @param {string[]} args
 * @param {object} [options]
 * @param {string} [options.cwd]
 * @param {NodeJS.ProcessEnv} [options.env]
 * @param {AbortSignal} [options.signal] ends the command and all it started, and rejects with Stopped
 * @param {import('./processes').ProcessRecords} [options.records] so that a later run can end it
 * @param {boolean} [options.show] print its output as it comes instead of keeping it
 * @param {string} [options.logFile] append its output there as well
 * @returns {Promise<{ code: number, output: string }>} output: both streams, at most the last MB; code 127: no such program
 */
function run(command, args, { cwd, env, signal, records, show = false, logFile } = {}) {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(new Stopped());
    // Its own process group: Ctrl-C reaches us alone, and we end the command with everything it started.
    const stdio = ['ignore', show ? 'inherit' : 'pipe', show ? 'inherit' : 'pipe'];
    const child = spawn(command, args, { cwd, env, stdio, detached: true });
    const name = `command-${process.pid}-${commands++}`;
    if (child.pid) records?.add(name, child.pid);
    const output = collect(child, logFile);
    let killTimer;
    const stop = () => {
      if (!child.pid) return;
      signalGroup(child.pid, 'SIGTERM');
      killTimer = setTimeout(() => signalGroup(child.pid, 'SIGKILL'), 5_000);
    };
    signal?.addEventListener('abort', stop, { once: true });
    const ended = () => {
      clearTimeout(killTimer);
      signal?.removeEventListener('abort', stop);
      records?.remove(name);
    };
    child.on('error', (error) => {
      ended();
      if (error.code === 'ENOENT') resolve({ code: 127, output: `${command}: no such program` });
      else reject(error);
    });
    child.on('close', (code, endSignal) => {
      ended();
      if (signal?.aborted) reject(new Stopped());
      else resolve({ code: code ?? 1, output: output() + (endSignal ? `\n(ended by ${endSignal})` : '') });
    });
  });
}

function collect(child, logFile) {
  const maxChars = 1_000_000;
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk) => {
      text = (text + chunk).slice(-maxChars);
      try {
        if (logFile) fs.appendFileSync(logFile, chunk);
      } catch {
        // A full disk is told by the command that fails on it.
      }
    });
  }
  return () => text;
}

/** As {@link run}, but a failure is a UserError that says what failed, why (the last lines), and what to do. */
async function runOrExplain(what, advice, command, args, options) {
  const { code, output } = await run(command, args, options);
  if (code === 0) return output;
  if (mentionsFullDisk(output)) {
    throw new UserError(`${what} failed, the disk is full: free some space and run the command again.`);
  }
  const why = output
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(-15)
    .map((line) => `    ${line}`)
    .join('\n');
  throw new UserError(`${what} failed (exit code ${code}). ${advice}${why ? `\n${why}` : ''}`);
}

module.exports = { run, runOrExplain };
