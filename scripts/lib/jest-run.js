'use strict';
const fs = require('node:fs');
const path = require('node:path');
const { installed } = require('./checks');
const { readJson } = require('./files');
const { complain, say } = require('./log');
const { run } = require('./run');

/** Names of the projects in jest.config.js, in its order. */
function jestProjects(root) {
  const { projects } = require(path.join(root, 'jest.config.js'));
  return projects.map((project) => project.displayName);
}

/**
 * Counts one Jest run by its JSON report. A file that could not even run counts as one failure; without a report the run
 * itself is one.
 * @param {object | undefined} report what `jest --json` wrote
 * @param {number} exitCode Jest's own
 * @returns {{ passed: number, failed: number, skipped: number }}
 */
function countReport(report, exitCode) {
  if (!report) return { passed: 0, failed: 1, skipped: 0 };
  const passed = report.numPassedTests;
  const failed = report.numFailedTests + report.numRuntimeErrorTestSuites;
  const skipped = report.numPendingTests + report.numTodoTests;
  // Jest can fail without a failed test (a broken reporter, an open handle): that must not read as success.
  return { passed, failed: failed === 0 && exitCode !== 0 ? 1 : failed, skipped };
}

/**
 * Runs Jest projects and counts exactly.
 * @param {object} options
 * @param {string} options.root
 * @param {string[]} options.projects
 * @param {string[]} options.args further words for Jest
 * @param {string} options.reportFile where Jest's report goes
 * @param {NodeJS.ProcessEnv} options.env
 * @param {AbortSignal} options.signal
 * @param {import('./processes').ProcessRecords} options.records
 * @returns {Promise<{ passed: number, failed: number, skipped: number }>}
 */
async function runJest({ root, projects, args, reportFile, env, signal, records }) {
  fs.rmSync(reportFile, { force: true });
  const words = ['--selectProjects', ...projects, '--maxWorkers=2', '--passWithNoTests', '--json'];
  const options = { cwd: root, env, signal, records, show: true };
  const { code } = await run(installed(root, 'jest'), [...words, `--outputFile=${reportFile}`, ...args], options);
  const report = readJson(reportFile);
  const counts = countReport(report, code);
  if (!report) complain('Jest ended without a report; that counts as one failure.');
  if (counts.skipped > 0) say(`${counts.skipped} tests were skipped in this run`);
  return counts;
}

module.exports = { jestProjects, countReport, runJest };
