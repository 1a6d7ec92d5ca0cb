'use strict';
require('./lib/node-version').requireSupportedNode();
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { UserError, explain } = require('./lib/errors');
const { readJson } = require('./lib/files');
const { complain } = require('./lib/log');
const { keepSecrets, loadEnvironment, withControlDatabase } = require('./lib/settings');

const root = path.join(__dirname, '..');

/** The servers named in the environment, else those that `npm start` runs. */
function serverUrls(environment) {
  const services = readJson(path.join(root, '.data', 'run', 'services.json'));
  const { MYSQL_URL = services?.mysql.url, REDIS_URL = services?.redis.url } = environment;
  if (!MYSQL_URL || !REDIS_URL) {
    throw new UserError(
      'No servers: nothing runs from this folder (npm start), and MYSQL_URL and REDIS_URL are not both set.',
    );
  }
  return { MYSQL_URL: withControlDatabase(MYSQL_URL), REDIS_URL };
}

/** `npm run tenant -- create|migrate|list|disable|enable ...`: the built command line with the right environment. */
function main() {
  const program = path.join(root, 'dist', 'cli', 'tenant.js');
  const environment = loadEnvironment(root);
  const urls = serverUrls(environment);
  if (!fs.existsSync(program)) throw new UserError('Not built yet: run npm start or npm run build first.');
  fs.mkdirSync(path.join(root, '.data'), { recursive: true });
  const env = { ...environment, ...urls, ...keepSecrets(path.join(root, '.data'), environment) };
  const child = spawn(process.execPath, [program, ...process.argv.slice(2)], { stdio: 'inherit', env });
  for (const name of ['SIGINT', 'SIGTERM']) process.on(name, () => child.kill(name));
  child.on('exit', (code) => process.exit(code ?? 1));
}

try {
  main();
} catch (error) {
  complain(explain(error));
  process.exit(1);
}
