'use strict';
const fs = require('node:fs');
const inspector = require('node:inspector/promises');

/**
 * Records where this process spends its CPU time while `work` runs.
 * @template T
 * @param {string} file for Chrome's or VS Code's profile viewers
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
async function recordProfile(file, work) {
  const session = new inspector.Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.start');
  try {
    return await work();
  } finally {
    const { profile } = await session.post('Profiler.stop');
    session.disconnect();
    fs.writeFileSync(file, JSON.stringify(profile));
  }
}

module.exports = { recordProfile };
