import { KEY_FAMILIES, type KeyFamilyName } from '../../../src/platform/redis/key-families.js';
import { filesBelow, moduleOf, readText } from './sources.js';

interface DocsGenerator {
  redisKeysPage(families: typeof KEY_FAMILIES): string;
}
const { redisKeysPage } = jest.requireActual<DocsGenerator>('../../../scripts/docs.js');

/**
 * Modules that read another one's key inside their own script, because both sit in the same slot and a second round trip
 * would cost more than the rule is worth (docs/adr/0006). They never write it.
 */
const READERS: Partial<Record<KeyFamilyName, readonly string[]>> = { groupAccess: ['group-message'] };

const names = Object.keys(KEY_FAMILIES) as KeyFamilyName[];

function buildersOf(name: KeyFamilyName): string[] {
  const call = new RegExp(`\\.of\\(\\s*'${name}'`);
  return filesBelow('src', '.ts')
    .filter(({ text }) => call.test(text))
    .map(({ path }) => path);
}

describe('Redis keys', () => {
  it.each(names)('%s is built by its owner alone', (name) => {
    const allowed = [KEY_FAMILIES[name].owner, ...(READERS[name] ?? [])];
    const builders = buildersOf(name);
    expect(builders).not.toEqual([]);
    expect(builders.filter((path) => !allowed.includes(moduleOf(path)))).toEqual([]);
  });

  it('are spelled nowhere else', () => {
    // A template or a literal that looks like a key: prefix, tenant, word.
    const spelled = /['"`](im|\$\{[^}]*prefix[^}]*\}):(\d|\$\{)/i;
    const found = filesBelow('src', '.ts').filter(
      ({ path, text }) => path !== 'src/platform/redis/keys.ts' && spelled.test(text),
    );
    expect(found.map(({ path }) => path)).toEqual([]);
  });

  it.each(names)('%s has one hash tag, so that a script can touch its neighbours', (name) => {
    const { pattern, type } = KEY_FAMILIES[name];
    const tags = pattern.match(/\{[^}]*\}/g) ?? [];
    // What belongs to the whole platform and is touched alone, and channels, need none.
    if (pattern.startsWith('0:') || type === 'pub/sub') expect(tags.length).toBeLessThanOrEqual(1);
    else if (/<t>:\w+$/.test(pattern)) expect(tags).toEqual([]);
    else expect(tags).toHaveLength(1);
  });

  it('docs/redis-keys.md is what `node scripts/docs.js` writes', () => {
    expect(readText('docs/redis-keys.md')).toBe(redisKeysPage(KEY_FAMILIES));
  });
});
