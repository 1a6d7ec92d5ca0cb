import { KEY_FAMILIES } from '../../../src/platform/redis/key-families.js';
import { RedisKeys } from '../../../src/platform/redis/keys.js';

const keys = new RedisKeys({ REDIS_KEY_PREFIX: 'im' });
const TOPIC = { t: '7', topic: 'grp_1' };

describe('Redis keys', () => {
  it('are spelled as the table says', () => {
    expect(keys.of('topicLastSeq', TOPIC)).toBe('im:7:topic:{grp_1}:last_seq');
    expect(keys.of('topicInflightDeadline', TOPIC)).toBe('im:7:topic:{grp_1}:inflight:deadline');
    expect(keys.of('messageClaim', { ...TOPIC, from: '2', clientMsgId: 'aB.3' })).toBe(
      'im:7:topic:{grp_1}:uniq:msg:2:aB.3',
    );
    expect(keys.of('groupAccess', TOPIC)).toBe('im:7:group:{grp_1}:access');
  });

  it('of one topic share a cluster slot, so that one script may touch them', () => {
    const tags = (
      ['topicLastSeq', 'topicInflight', 'topicInflightDeadline', 'groupAccess', 'topicHot', 'topicHotMeta'] as const
    ).map((family) => /\{([^}]*)\}/.exec(keys.of(family, TOPIC))?.[1]);
    expect(new Set(tags)).toEqual(new Set(['grp_1']));
  });

  it('never hold what a user chose as it is, and never fall together', () => {
    const claim = (clientMsgId: string): string => keys.of('messageClaim', { ...TOPIC, from: '2', clientMsgId });
    const ids = ['a', 'A', 'é', 'e', '👍', '🎉', 'id ', 'id', 'a}b', 'a{b', '*', 'a%7Db', '{x}', '\n'];
    expect(new Set(ids.map(claim)).size).toBe(ids.length);
    for (const id of ids) expect(claim(id).match(/[{}]/g)).toEqual(['{', '}']);
  });

  it('always have their tenant: two tenants never share one, and an empty part is a fault', () => {
    expect(keys.of('topicLastSeq', { ...TOPIC, t: '8' })).not.toBe(keys.of('topicLastSeq', TOPIC));
    for (const bad of ['', undefined, null, 7]) {
      expect(() => keys.of('topicLastSeq', { topic: 'grp_1', t: bad as never })).toThrow('needs t');
    }
  });

  it('begin with a tenant or the platform itself, and have at most one hash tag', () => {
    for (const [name, { pattern, owner, ttl }] of Object.entries(KEY_FAMILIES)) {
      expect(`${name} ${pattern}`).toMatch(/ (<t>|0):/);
      expect((pattern.match(/\{/g) ?? []).length).toBeLessThanOrEqual(1);
      expect(owner).not.toBe('');
      expect(ttl).not.toBe('');
    }
    const patterns = Object.values(KEY_FAMILIES).map((family) => family.pattern.replace(/<\w+>/g, '<>'));
    expect(new Set(patterns).size).toBe(patterns.length);
  });
});
