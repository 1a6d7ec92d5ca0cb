'use strict';
const fs = require('node:fs');
const path = require('node:path');
const { UserError } = require('./errors');
const { hashOf, readJson, readText, writeAtomic } = require('./files');
const { say, withProgress } = require('./log');
const { runOrExplain } = require('./run');

const buildInputs = [
  'src',
  'package.json',
  'package-lock.json',
  'nest-cli.json',
  'tsconfig.json',
  'tsconfig.build.json',
];

/** npm of the very Node.js that runs us, when npm started us; else the one on the PATH. */
function npm(args) {
  const script = process.env.npm_execpath;
  return script && /\.c?js$/.test(script) ? [process.execPath, [script, ...args]] : ['npm', args];
}

/** The environment for a nested npm: without what the outer npm told its script, which would change the inner one's ways. */
function npmEnvironment() {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_(?!config_(registry|cache))/i.test(name)),
  );
}

/**
 * Installs the dependencies when they are missing or the lock file changed since.
 * @param {string} root
 * @param {{ signal?: AbortSignal, records?: import('./processes').ProcessRecords }} [options]
 */
async function ensureDependencies(root, options = {}) {
  const stampFile = path.join(root, 'node_modules', '.trident-lock');
  const hash = hashOf(root, ['package-lock.json']);
  if (readText(stampFile) === hash) return;
  if (matchesLock(root)) return writeAtomic(stampFile, hash, 0o644);
  say('Installing dependencies (npm ci, about a minute the first time) ...');
  const [command, args] = npm(['ci', '--no-audit', '--no-fund', '--include=dev', '--loglevel=error']);
  const advice = 'Can this machine reach the npm registry?';
  const work = runOrExplain('npm ci', advice, command, args, { cwd: root, env: npmEnvironment(), ...options });
  await withProgress('installing dependencies', work);
  // A project without dependencies gets no folder from npm.
  fs.mkdirSync(path.dirname(stampFile), { recursive: true });
  writeAtomic(stampFile, hash, 0o644);
}

/**
 * True when node_modules holds what the lock file says, by the list that npm itself keeps there: somebody who ran npm by
 * hand need not wait for it again.
 */
function matchesLock(root) {
  const wanted = readJson(path.join(root, 'package-lock.json'))?.packages;
  const installed = readJson(path.join(root, 'node_modules', '.package-lock.json'))?.packages;
  if (!wanted || !installed) return false;
  // Optional ones are mostly programs for other systems.
  const needed = Object.entries(wanted).filter(([place, { optional, link }]) => place !== '' && !optional && !link);
  return needed.every(([place, { version }]) => installed[place]?.version === version);
}

/** Builds `dist/` when the sources or what shapes the build changed since. */
async function ensureBuild(root, options = {}) {
  const stampFile = path.join(root, 'dist', '.stamp');
  const hash = hashOf(root, buildInputs);
  if (readText(stampFile) === hash) return;
  say('Building ...');
  const [command, args] = npm(['run', 'build']);
  const advice = 'The source does not compile:';
  const work = runOrExplain('npm run build', advice, command, args, { cwd: root, env: npmEnvironment(), ...options });
  await withProgress('building', work);
  if (!fs.existsSync(path.join(root, 'dist', 'main.js'))) {
    throw new UserError('npm run build ended well but made no dist/main.js: look at nest-cli.json.');
  }
  writeAtomic(stampFile, hash, 0o644);
}

module.exports = { ensureDependencies, matchesLock, ensureBuild, npm, npmEnvironment };
