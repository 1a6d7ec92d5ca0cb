'use strict';
const fs = require('node:fs');
const path = require('node:path');
const vm = require('node:vm');

const root = path.join(__dirname, '..');

const intro = `# Redis keys

Written by \`node scripts/docs.js\` from \`src/platform/redis/key-families.ts\`: change that table, not this page.

- Every key begins with the prefix (\`REDIS_KEY_PREFIX\`, \`im\`) and the tenant's id; tenant \`0\` is the platform itself.
- The part in braces is the Redis Cluster hash tag: keys with the same tag share a slot, so that one script may touch them.
- A value that a user chose is percent-encoded unless it is made of \`A-Z a-z 0-9 _ . : @ -\`.
- A key is written by its owner module alone.
- Redis is never the truth: all of it may be lost at any time (operations.md says what happens then).
- Besides these, the Socket.IO adapter uses the channels \`im:fanout#…\`.
`;

/**
 * The page docs/redis-keys.md.
 * @param {Record<string, { pattern: string, type: string, ttl: string, owner: string, what: string }>} families
 * @returns {string} Markdown
 */
function redisKeysPage(families) {
  const cell = (text) => text.replaceAll('|', '\\|');
  const rows = Object.values(families).map(
    ({ pattern, type, ttl, owner, what }) =>
      `| \`im:${cell(pattern)}\` | ${cell(type)} | ${cell(ttl)} | ${owner} | ${cell(what)} |`,
  );
  return [intro, '| key | type | time to live | owner | what |', '| --- | --- | --- | --- | --- |', ...rows, ''].join(
    '\n',
  );
}

/** The table of all keys. It imports nothing, so its types are stripped and it runs as it is; no build is needed. */
function readKeyFamilies() {
  const ts = require('typescript');
  const source = fs.readFileSync(path.join(root, 'src', 'platform', 'redis', 'key-families.ts'), 'utf8');
  const { outputText } = ts.transpileModule(source, { compilerOptions: { module: ts.ModuleKind.CommonJS } });
  const exports = {};
  vm.runInNewContext(outputText, { exports });
  return exports.KEY_FAMILIES;
}

/** Writes the generated pages. */
function main() {
  fs.writeFileSync(path.join(root, 'docs', 'redis-keys.md'), redisKeysPage(readKeyFamilies()));
}

if (require.main === module) main();

module.exports = { redisKeysPage };
