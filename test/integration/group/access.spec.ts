import { asTopic, asUserId, type Topic, type UserId } from '../../../src/platform/ids/ids.js';
import { RedisKeys } from '../../../src/platform/redis/keys.js';
import type { GroupAccess } from '../../../src/modules/group/group.types.js';
import { gate, until, World, type Node } from './world.js';

let world: World;
let a: Node;
let b: Node;
let owner: UserId;
let member: UserId;
let topic: Topic;

beforeAll(async () => {
  world = await World.open();
  [a, b] = [await world.node(), await world.node()];
  [owner, member] = await world.users(2);
});
beforeEach(async () => {
  a.scripts.down = b.scripts.down = false;
  topic = await world.group(a, owner, [member]);
});
afterEach(() => jest.restoreAllMocks());
afterAll(() => world.close());

/** The raw hash, as admit.lua reads it. */
const hash = (node: Node, of: Topic = topic): Promise<Record<string, string>> =>
  node.scripts.command('test', (client) => client.hgetall(keyOf(of)));
const keyOf = (of: Topic): string =>
  new RedisKeys({ REDIS_KEY_PREFIX: world.prefix }).of('groupAccess', { t: world.tenant, topic: of });

/** Holds a node's reader between its SELECT and its fill. */
function pauseAfterRead(node: Node): { reached: Promise<void>; go(): void; reads: GroupAccess[] } {
  const [reached, resume] = [gate(), gate()];
  const reads: GroupAccess[] = [];
  const real = node.groups.accessFromMysql.bind(node.groups);
  let first = true;
  jest.spyOn(node.groups, 'accessFromMysql').mockImplementation(async (...args) => {
    const access = await real(...args);
    reads.push(access);
    if (first) {
      first = false;
      reached.open();
      await resume.opened;
    }
    return access;
  });
  return { reached: reached.opened, go: () => resume.open(), reads };
}

describe('a fill', () => {
  it('writes both records in the published form, by the time of Redis', async () => {
    const until = new Date(Date.now() + 60_000);
    await a.members.patch(world.actor(owner), topic, member, { mutedUntil: until });
    await a.life.patchSettings(world.actor(owner), topic, { muteAll: true });
    const access = await a.groups.loadAccess(world.tenant, topic, member);
    expect(access).toMatchObject({
      role: 'member',
      mutedUntilMs: until.getTime(),
      muteAll: true,
      groupState: 'active',
    });
    const [seconds] = (await a.scripts.command('time', (client) => client.time())) as unknown as [string];
    const fields = await hash(a);
    expect(Object.keys(fields).sort()).toEqual(['#', member].sort());
    const [role, muted, acl, floor, loaded] = fields[member].split('|');
    expect([role, muted, acl, floor]).toEqual(['member', String(until.getTime()), String(access.aclVersion), '0']);
    expect(fields['#']).toMatch(new RegExp(`^active\\|1\\|${access.aclVersion}\\|${loaded}\\|[0-9a-f]{40}$`));
    expect(Math.abs(Number(loaded) - Number(seconds) * 1000)).toBeLessThan(5_000);
    const ttl = await a.scripts.command('ttl', (client) => client.ttl(keyOf(topic)));
    expect(ttl).toBeGreaterThan(265);
    expect(ttl).toBeLessThanOrEqual(330);
  });

  it('keeps "no member" and "no group", too', async () => {
    const [outsider] = await world.users(1);
    await a.groups.loadAccess(world.tenant, topic, outsider);
    expect((await hash(a))[outsider]).toMatch(/^-\|0\|\d+\|0\|\d{13}$/);
    const nowhere = asTopic('grp_999999');
    expect(await a.groups.loadAccess(world.tenant, nowhere, outsider)).toMatchObject({
      role: null,
      groupState: 'missing',
    });
    expect((await hash(a, nowhere))['#']).toMatch(/^missing\|0\|0\|\d{13}\|[0-9a-f]{40}$/);
  });

  it('does not extend the life of a hash that is in use', async () => {
    await a.groups.loadAccess(world.tenant, topic, member);
    await a.scripts.command('expire', (client) => client.expire(keyOf(topic), 20));
    await a.groups.loadAccess(world.tenant, topic, owner);
    expect(await a.scripts.command('ttl', (client) => client.ttl(keyOf(topic)))).toBeLessThanOrEqual(20);
    expect(Object.keys(await hash(a))).toEqual(expect.arrayContaining([owner, member, '#']));
  });

  it('tells that a group was made after it had been asked for', async () => {
    const [{ next }] = await world.query('SELECT MAX(id) + 1 AS next FROM im_groups');
    const soon = asTopic(`grp_${String(next)}`);
    expect((await b.groups.loadAccess(world.tenant, soon, member)).groupState).toBe('missing');
    expect(await world.group(a, owner, [member])).toBe(soon);
    expect(await hash(b, soon)).toEqual({});
  });
});

describe('a reader that is paused between SELECT and fill', () => {
  const changes: Record<string, { run: () => Promise<unknown>; after: Partial<GroupAccess> }> = {
    kick: { run: () => b.members.remove(world.actor(owner), topic, member), after: { role: null } },
    leave: { run: () => b.members.remove(world.actor(member), topic, member), after: { role: null } },
    promotion: {
      run: () => b.members.patch(world.actor(owner), topic, member, { role: 'admin' }),
      after: { role: 'admin' },
    },
    mute: {
      run: () => b.members.patch(world.actor(owner), topic, member, { mutedUntil: new Date(4e12) }),
      after: { mutedUntilMs: 4e12 },
    },
    'mute-all': {
      run: () => b.life.patchSettings(world.actor(owner), topic, { muteAll: true }),
      after: { muteAll: true },
    },
    dismissal: { run: () => b.life.dismiss(world.actor(owner), topic), after: { groupState: 'dismissed' } },
  };

  it.each(Object.keys(changes))('loses to a %s and answers the new state', async (name) => {
    const paused = pauseAfterRead(a);
    const early = a.groups.loadAccess(world.tenant, topic, member);
    await paused.reached;
    await changes[name].run();
    // Joins the load that read the old state before the change was acknowledged.
    const late = a.groups.loadAccess(world.tenant, topic, member);
    paused.go();
    expect(paused.reads[0]).not.toMatchObject(changes[name].after);
    expect(await late).toMatchObject(changes[name].after);
    expect(await early).toMatchObject(changes[name].after);
    const cached = (await hash(a))[member];
    expect(cached.split('|')[2]).toBe(String((await late).aclVersion));
  });

  it('loses on the other node as well, which shared its lease', async () => {
    const [onA, onB] = [pauseAfterRead(a), pauseAfterRead(b)];
    const [fromA, fromB] = [a, b].map((node) => node.groups.loadAccess(world.tenant, topic, member));
    await Promise.all([onA.reached, onB.reached]);
    await a.members.remove(world.actor(owner), topic, member);
    onB.go();
    expect((await fromB).role).toBeNull();
    onA.go();
    expect((await fromA).role).toBeNull();
    expect((await hash(a))[member]).toMatch(/^-\|/);
  });

  it('lets nobody join any more once its fill is on the way: the answer to that fill can be late', async () => {
    const [filled, answer] = [gate(), gate()];
    const fill = a.cache.fill.bind(a.cache);
    jest.spyOn(a.cache, 'fill').mockImplementationOnce(async (...args) => {
      const done = await fill(...args);
      filled.open();
      await answer.opened;
      return done;
    });
    const early = a.groups.loadAccess(world.tenant, topic, member);
    await filled.opened;
    await b.members.remove(world.actor(owner), topic, member);
    expect((await a.groups.loadAccess(world.tenant, topic, member)).role).toBeNull();
    answer.open();
    expect((await early).role).toBe('member');
    expect((await hash(a))[member]).toMatch(/^-\|/);
  });

  it('is given up after three refusals with an answer that is not older than the last call', async () => {
    const refuse = jest.spyOn(a.cache, 'fill').mockResolvedValue(false);
    const read = jest.spyOn(a.groups, 'accessFromMysql');
    expect((await a.groups.loadAccess(world.tenant, topic, member)).role).toBe('member');
    expect(refuse).toHaveBeenCalledTimes(3);
    expect(read).toHaveBeenCalledTimes(4);
  });
});

describe('loads at the same time', () => {
  it('cost one SELECT a node', async () => {
    const read = jest.spyOn(a.groups, 'accessFromMysql');
    const answers = await Promise.all(
      Array.from({ length: 500 }, () => a.groups.loadAccess(world.tenant, topic, member)),
    );
    expect(read).toHaveBeenCalledTimes(1);
    expect(answers.every((access) => access.role === 'member')).toBe(true);
  });

  it('cost one SELECT without Redis, too, and what came before the call is never answered', async () => {
    a.scripts.down = true;
    const paused = pauseAfterRead(a);
    const early = Array.from({ length: 100 }, () => a.groups.loadAccess(world.tenant, topic, member));
    await paused.reached;
    expect(paused.reads).toHaveLength(1);
    await b.members.remove(world.actor(owner), topic, member);
    const late = await a.groups.loadAccess(world.tenant, topic, member);
    expect(late.role).toBeNull();
    paused.go();
    expect((await Promise.all(early)).every((access) => access.role === 'member')).toBe(true);
  });

  it('all fail with the error of the load, and the next one loads again', async () => {
    const read = jest.spyOn(a.groups, 'accessFromMysql').mockRejectedValueOnce(new Error('away'));
    const both = [1, 2].map(() => a.groups.loadAccess(world.tenant, topic, member));
    await expect(both[0]).rejects.toThrow('away');
    await expect(both[1]).rejects.toThrow('away');
    expect((await a.groups.loadAccess(world.tenant, topic, member)).role).toBe('member');
    expect(read).toHaveBeenCalledTimes(2);
  });

  it('never reach SQL with something that is no id', async () => {
    const bad = [undefined, null, '', '0', '1 OR 1=1', 1, {}, ['1']] as unknown as UserId[];
    for (const uid of bad) {
      await expect(a.groups.loadAccess(world.tenant, topic, uid)).rejects.toThrow();
      await expect(a.groups.topicsOf(world.tenant, uid)).rejects.toThrow();
    }
    await expect(a.groups.loadAccess(world.tenant, undefined as unknown as Topic, member)).rejects.toThrow();
  });
});

describe('an invalidation that Redis did not take', () => {
  it('is made up for as soon as Redis answers again, and the change counts meanwhile', async () => {
    await b.groups.loadAccess(world.tenant, topic, member);
    a.scripts.down = true;
    a.confirm = () => Promise.reject(new Error('no Redis'));
    await expect(a.members.remove(world.actor(owner), topic, member)).rejects.toMatchObject({
      code: 'SHORT_STATE_UNAVAILABLE',
      retryable: true,
    });
    expect((await hash(b))[member]).toMatch(/^member\|/);
    // The group's records, and the list of groups of him who went.
    expect(a.removals.owedCount).toBe(2);
    expect((await a.groups.loadAccess(world.tenant, topic, member)).role).toBeNull();
    a.scripts.down = false;
    await until(async () => Object.keys(await hash(b)).length === 0);
    await until(() => a.removals.owedCount === 0);
    a.confirm = () => Promise.resolve(true);
    await a.members.remove(world.actor(owner), topic, member);
  });
});

describe('recheck', () => {
  it('sees the newest commit inside an open transaction and answers every uid', async () => {
    await a.databases.run(world.tenant, (db) =>
      db.writer.transaction(async (session) => {
        const uids = [owner, member, asUserId('888888')];
        const before = await a.groups.recheck(session, topic, uids);
        expect([...before.values()].map((access) => access.role)).toEqual(['owner', 'member', null]);
        await b.members.remove(world.actor(owner), topic, member);
        const after = await a.groups.recheck(session, topic, uids);
        expect(after.get(member)?.role).toBeNull();
        expect(after.get(owner)?.aclVersion).toBe((before.get(owner)?.aclVersion ?? 0) + 1);
      }),
    );
  });
});

describe('topicsOf', () => {
  it('names the active groups of an active member, and no others', async () => {
    const [uid] = await world.users(1);
    const [stays, left, gone] = [
      await world.group(a, owner, [uid]),
      await world.group(a, owner, [uid]),
      await world.group(a, owner, [uid]),
    ];
    await a.members.remove(world.actor(uid), left, uid);
    await a.life.dismiss(world.actor(owner), gone);
    expect(await a.groups.topicsOf(world.tenant, uid)).toEqual([stays]);
    expect(await a.groups.activeMembers(world.tenant, left, [uid, owner])).toEqual([owner]);
    expect(await a.groups.activeMembers(world.tenant, gone, [uid, owner])).toEqual([]);
  });
});
