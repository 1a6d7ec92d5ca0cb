'use strict';

const startedAtMs = Date.now();

// A closed terminal or pipe must not end the launcher in the middle of its work.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

/** Prints one progress line with the seconds since the start. */
function say(line) {
  const seconds = ((Date.now() - startedAtMs) / 1000).toFixed(1).padStart(5);
  process.stdout.write(`[${seconds} s] ${line}\n`);
}

/** Prints one line to standard error. */
function complain(line) {
  process.stderr.write(`${line}\n`);
}

/**
 * Says every `everyMs` that something long is still going on.
 * @template T
 * @param {string} label
 * @param {Promise<T>} work
 * @returns {Promise<T>}
 */
async function withProgress(label, work, everyMs = 5000) {
  const beganAtMs = Date.now();
  const timer = setInterval(() => say(`  still ${label} (${Math.round((Date.now() - beganAtMs) / 1000)} s)`), everyMs);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}

module.exports = { say, complain, withProgress };
