'use strict';
const { randomBytes } = require('node:crypto');
const path = require('node:path');
const { parseEnv } = require('node:util');
const { UserError } = require('./errors');
const { readJson, readText, writeJson } = require('./files');

/** The control database's name when none is given. */
const controlDatabase = 'im_control';
const secretNames = ['JWT_SECRET', 'SECRETS_KEY', 'PHONE_HASH_KEY', 'ADMIN_TOKEN'];

/** The environment over the `.env` file at the top of the project; an empty variable counts as not given. */
function loadEnvironment(root, environment = process.env) {
  const fromFile = parseEnv(readText(path.join(root, '.env')) ?? '');
  const given = Object.entries(environment).filter(([, value]) => value !== '');
  return { ...fromFile, ...Object.fromEntries(given) };
}

/**
 * The secrets of this installation: those given in the environment, the others made once and kept.
 * @param {string} dataFolder `secrets.json` is kept there, readable by the owner only
 * @returns {Record<string, string>} 32 random bytes in hexadecimal each, unless given
 */
function keepSecrets(dataFolder, environment) {
  const file = path.join(dataFolder, 'secrets.json');
  const kept = readJson(file) ?? {};
  const missing = secretNames.filter((name) => !environment[name] && !kept[name]);
  for (const name of missing) kept[name] = randomBytes(32).toString('hex');
  if (missing.length > 0) writeJson(file, kept);
  return Object.fromEntries(secretNames.map((name) => [name, environment[name] || kept[name]]));
}

/** A server's URL with the control database as its path, unless it names a database already. */
function withControlDatabase(url) {
  const example = `mysql://user:password@host:3306/${controlDatabase}`;
  if (!/^mysql:\/\/[^/]/.test(url) || !URL.canParse(url)) throw new UserError(`MYSQL_URL must look like ${example}.`);
  const parsed = new URL(url);
  if (parsed.pathname === '' || parsed.pathname === '/') parsed.pathname = `/${controlDatabase}`;
  return parsed.href;
}

/**
 * What services.json says about a server that is not ours. A Redis URL may name several hosts, which no URL parser takes;
 * the first one stands for them.
 */
function describeUrl(url) {
  const match = /^(\w[\w-]*):\/\/(?:([^@/:]*)(?::([^@/]*))?@)?(\[[^\]]+\]|[^/:,?]+)(?::(\d+))?/.exec(url);
  if (!match) throw new UserError('REDIS_URL must look like redis://user:password@host:6379/0.');
  const [, scheme, user = '', password = '', host, port = scheme === 'mysql' ? '3306' : '6379'] = match;
  const account = { user: decodeURIComponent(user), password: decodeURIComponent(password) };
  return { host, port: Number(port), ...account, pid: null, url };
}

function wholeNumber(environment, name, fallback, least, most) {
  const value = Number(environment[name] ?? fallback);
  if (!Number.isInteger(value) || value < least || value > most) {
    throw new UserError(`${name}=${environment[name]} must be a whole number from ${least} to ${most}.`);
  }
  return value;
}

/**
 * The ports of the nodes: `PORT` (3000) and those after it, `NODE_COUNT` (2) in all.
 * @returns {number[]}
 */
function nodePorts(environment) {
  const count = wholeNumber(environment, 'NODE_COUNT', 2, 1, 64);
  const first = wholeNumber(environment, 'PORT', 3000, 1, 65_535 - count + 1);
  return Array.from({ length: count }, (_, index) => first + index);
}

module.exports = { controlDatabase, loadEnvironment, keepSecrets, withControlDatabase, describeUrl, nodePorts };
