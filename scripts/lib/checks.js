'use strict';
const fs = require('node:fs');
const path = require('node:path');
const { run } = require('./run');

/**
 * One thing that is checked without any server.
 * @typedef {object} Check
 * @property {string} name
 * @property {string} command
 * @property {string[]} args
 */

/** The program of an installed package, run by this Node.js. */
function installed(root, name) {
  return path.join(root, 'node_modules', '.bin', name);
}

/**
 * Format, lint, types and boundaries.
 * @returns {Check[]}
 */
function staticChecks(root) {
  // Both caches go by content. ESLint's would not see that a type in another file changed, so it has none.
  const cache = path.join('.data', 'cache');
  const prettierArgs = ['--check', '--log-level', 'warn', '--cache', '--cache-strategy', 'content'];
  const tscArgs = ['--noEmit', '-p', 'tsconfig.json', '--incremental'];
  const checks = [
    {
      name: 'format',
      command: installed(root, 'prettier'),
      args: [...prettierArgs, '--cache-location', path.join(cache, 'prettier'), '.'],
    },
    { name: 'lint', command: installed(root, 'eslint'), args: ['.', '--max-warnings', '0'] },
    {
      name: 'types',
      command: installed(root, 'tsc'),
      args: [...tscArgs, '--tsBuildInfoFile', path.join(cache, 'types.tsbuildinfo')],
    },
  ];
  const rules = '.dependency-cruiser.cjs';
  if (fs.existsSync(path.join(root, rules))) {
    const args = ['--config', rules, '--output-type', 'err', 'src'];
    checks.push({ name: 'boundaries', command: installed(root, 'depcruise'), args });
  }
  return checks;
}

/** The unit tests as one check, for `npm run check`. */
function unitCheck(root) {
  return {
    name: 'unit',
    command: installed(root, 'jest'),
    args: ['--selectProjects', 'unit', '--maxWorkers=2', '--silent'],
  };
}

/**
 * Runs checks side by side and prints each result as it comes, with the output of those that failed.
 * @param {string} root
 * @param {Check[]} checks
 * @param {{ signal?: AbortSignal, records?: import('./processes').ProcessRecords }} [options]
 * @returns {Promise<{ passed: number, failed: number }>}
 */
async function runChecks(root, checks, options = {}) {
  const results = await Promise.all(checks.map((check) => runCheck(root, check, options)));
  const passed = results.filter(Boolean).length;
  return { passed, failed: results.length - passed };
}

async function runCheck(root, { name, command, args }, options) {
  const beganAtMs = Date.now();
  const { code, output } = await run(command, args, { cwd: root, env: checkEnvironment(), ...options });
  const seconds = ((Date.now() - beganAtMs) / 1000).toFixed(1);
  if (code !== 0) process.stdout.write(`${output.trimEnd()}\n`);
  process.stdout.write(`${code === 0 ? 'passed' : 'FAILED'}  ${name.padEnd(10)}  ${seconds.padStart(6)} s\n`);
  return code === 0;
}

function checkEnvironment() {
  return process.stdout.isTTY ? { ...process.env, FORCE_COLOR: '1' } : process.env;
}

module.exports = { staticChecks, unitCheck, runChecks, installed };
