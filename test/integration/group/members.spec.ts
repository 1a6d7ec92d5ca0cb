import type { Topic, UserId } from '../../../src/platform/ids/ids.js';
import { groupIdOf } from '../../../src/platform/ids/topic.js';
import { topicRoom, userRoom } from '../../../src/platform/socket/rooms.js';
import { World, type Node } from './world.js';

let world: World;
let a: Node;
let b: Node;

beforeAll(async () => {
  world = await World.open();
  [a, b] = [await world.node(), await world.node()];
});
afterEach(() => {
  world.maxGroupMembers = undefined;
  for (const node of [a, b]) {
    node.confirm = () => Promise.resolve(true);
    node.told.length = 0;
  }
});
afterAll(() => world.close());

const memberRow = async (topic: Topic, uid: UserId): Promise<Record<string, unknown>> =>
  (await world.query('SELECT * FROM im_group_members WHERE group_id = ? AND uid = ?', [groupIdOf(topic), uid]))[0];

/** The count that the group keeps and the one that its rows give. */
async function counts(topic: Topic): Promise<{ kept: number; counted: number }> {
  const [row] = await world.query(
    `SELECT g.member_count AS kept,
            (SELECT COUNT(*) FROM im_group_members m WHERE m.group_id = g.id AND m.state = 'active') AS counted
     FROM im_groups g WHERE g.id = ?`,
    [groupIdOf(topic)],
  );
  return { kept: Number(row.kept), counted: Number(row.counted) };
}

async function storeMessage(topic: Topic, seq: number): Promise<void> {
  await world.query(
    `INSERT INTO im_group_messages (topic, group_id, seqid, from_user, created_at, updated_at)
     VALUES (?, ?, ?, 1, CURRENT_TIMESTAMP(3), CURRENT_TIMESTAMP(3))`,
    [topic, groupIdOf(topic), seq],
  );
}

function shuffled<T>(items: readonly T[], seed: number): T[] {
  const result = [...items];
  let state = seed + 1;
  for (let index = result.length - 1; index > 0; index -= 1) {
    state = (state * 1103515245 + 12345) % 2147483648;
    const other = state % (index + 1);
    [result[index], result[other]] = [result[other], result[index]];
  }
  return result;
}

describe('create', () => {
  it('makes the owner, the members and the topic row at once; duplicates and the owner himself count once', async () => {
    const [owner, x, y] = await world.users(3);
    const { topic } = await a.life.create(world.actor(owner), { name: 'One', memberUids: [x, y, x, owner] });
    expect(await counts(topic)).toEqual({ kept: 3, counted: 3 });
    expect((await memberRow(topic, owner)).role).toBe('owner');
    expect((await world.query('SELECT epoch FROM im_topic_seq WHERE topic = ?', [topic]))[0]).toEqual({ epoch: '0' });
    expect(a.told).toEqual([
      { ask: 'topic:join', uids: [owner, x, y] },
      expect.objectContaining({ room: topicRoom(world.tenant, topic), kind: 'joined' }),
    ]);
  });

  it('refuses users that do not exist or are disabled, and makes nothing', async () => {
    const [owner, good] = await world.users(2);
    const [disabled] = await world.users(1, 'disabled');
    const [{ before }] = await world.query('SELECT COUNT(*) AS `before` FROM im_groups');
    const create = a.life.create(world.actor(owner), {
      name: 'No',
      memberUids: [good, disabled, '99999999' as UserId],
    });
    await expect(create).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      details: [{ field: 'memberUids[1]' }, { field: 'memberUids[2]' }],
    });
    expect((await world.query('SELECT COUNT(*) AS `before` FROM im_groups'))[0]).toEqual({ before });
    expect(a.told).toEqual([]);
  });
});

describe('add', () => {
  it('skips members, refuses unknown users as a whole, and holds the limit of the tenant', async () => {
    const [owner, x, y, z] = await world.users(4);
    const topic = await world.group(a, owner, [x]);
    await expect(a.members.add(world.actor(owner), topic, [y, '99999999' as UserId])).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      details: [{ field: 'uids[1]' }],
    });
    expect(await a.members.add(world.actor(owner), topic, [x, y, y])).toEqual({ added: [y], memberCount: 3 });
    world.maxGroupMembers = 3;
    await expect(a.members.add(world.actor(owner), topic, [z])).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(await a.members.add(world.actor(owner), topic, [x])).toEqual({ added: [], memberCount: 3 });
    expect(await counts(topic)).toEqual({ kept: 3, counted: 3 });
  });

  it('lets one come back clean: no role, mute, nickname or place in history from before', async () => {
    const [owner, x] = await world.users(2);
    const topic = await world.group(a, owner, [x]);
    const boss = world.actor(owner);
    await a.members.patch(boss, topic, x, { role: 'admin', mutedUntil: new Date(4e12), nickname: 'Old' });
    await a.members.remove(boss, topic, x);
    const gone = await memberRow(topic, x);
    expect(gone.state).toBe('kicked');
    for (const seq of [1, 2, 41]) await storeMessage(topic, seq);
    await a.members.add(boss, topic, [x]);
    const back = await memberRow(topic, x);
    expect(back).toMatchObject({ role: 'member', state: 'active', nickname: '', muted_until: null, left_at: null });
    expect(back.joined_seq).toBe('41');
    expect((back.joined_at as Date).getTime()).toBeGreaterThan((gone.joined_at as Date).getTime());
    expect((await a.groups.loadAccess(world.tenant, topic, x)).joinedSeq).toBe(41);
  });

  it('waits for a send that is committing, whose message then lies before the joining', async () => {
    const [owner, x] = await world.users(2);
    const topic = await world.group(a, owner);
    let joined = false;
    const adding = await a.databases.run(world.tenant, (db) =>
      db.writer.transaction(async (session) => {
        await a.topics.fence(session, [topic]);
        await session.write(
          `INSERT INTO im_group_messages (topic, group_id, seqid, from_user, created_at, updated_at)
           VALUES (?, ?, 7, 1, CURRENT_TIMESTAMP(3), CURRENT_TIMESTAMP(3))`,
          [topic, groupIdOf(topic)],
        );
        const add = b.members.add(world.actor(owner), topic, [x]).then(() => (joined = true));
        await Promise.race([add, new Promise((resolve) => setTimeout(resolve, 200))]);
        expect(joined).toBe(false);
        await session.commit();
        return { add };
      }),
    );
    await adding.add;
    expect((await memberRow(topic, x)).joined_seq).toBe('7');
  });
});

describe('kick and leave', () => {
  it('tell the nodes before anybody else, and the one who is out through his own room alone', async () => {
    const [owner, x] = await world.users(2);
    const topic = await world.group(a, owner, [x]);
    await a.members.remove(world.actor(owner), topic, x);
    const event = { topic, actor: owner, kind: 'kicked', targets: [x] };
    expect(a.told).toEqual([
      { ask: 'topic:leave', uids: [x] },
      { room: topicRoom(world.tenant, topic), kind: 'kicked', event },
      { room: userRoom(world.tenant, x), kind: 'kicked', event },
    ]);
  });

  it('succeed only when every node confirmed; a repeated call confirms and does not tell again', async () => {
    const [owner, x, y] = await world.users(3);
    const topic = await world.group(a, owner, [x, y]);
    for (const [actor, target] of [
      [owner, x],
      [y, y],
    ]) {
      a.told.length = 0;
      a.confirm = () => Promise.resolve(false);
      const remove = (): Promise<void> => a.members.remove(world.actor(actor), topic, target);
      await expect(remove()).rejects.toMatchObject({ code: 'SHORT_STATE_UNAVAILABLE', retryable: true });
      expect(a.told).toHaveLength(3);
      await expect(remove()).rejects.toMatchObject({ code: 'SHORT_STATE_UNAVAILABLE' });
      a.confirm = () => Promise.resolve(true);
      await remove();
      expect(a.told.slice(3)).toEqual([
        { ask: 'topic:leave', uids: [target] },
        { ask: 'topic:leave', uids: [target] },
      ]);
    }
    expect(await counts(topic)).toEqual({ kept: 1, counted: 1 });
  });

  it('are refused for one who never was a member, and for the owner', async () => {
    const [owner, x, stranger] = await world.users(3);
    const topic = await world.group(a, owner, [x]);
    const remove = (actor: UserId, target: UserId): Promise<void> =>
      a.members.remove(world.actor(actor), topic, target);
    await expect(remove(owner, stranger)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(remove(stranger, stranger)).rejects.toMatchObject({ code: 'NOT_MEMBER' });
    await expect(remove(owner, owner)).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(await counts(topic)).toEqual({ kept: 2, counted: 2 });
  });
});

describe('dismiss', () => {
  it('tells the members while they still hear, closes the topic, and can be repeated until it is confirmed', async () => {
    const [owner, x] = await world.users(2);
    const topic = await world.group(a, owner, [x]);
    a.confirm = () => Promise.resolve(false);
    await expect(a.life.dismiss(world.actor(owner), topic)).rejects.toMatchObject({ code: 'SHORT_STATE_UNAVAILABLE' });
    expect(a.told).toEqual([
      expect.objectContaining({ room: topicRoom(world.tenant, topic), kind: 'dismissed' }),
      { ask: 'topic:close' },
    ]);
    a.confirm = () => Promise.resolve(true);
    await b.life.dismiss(world.actor(owner), topic);
    expect(b.told).toEqual([{ ask: 'topic:close' }]);
    await expect(a.members.add(world.actor(owner), topic, [x])).rejects.toMatchObject({ code: 'GROUP_DISMISSED' });
    await expect(a.reads.profile(world.actor(x), topic)).rejects.toMatchObject({ code: 'GROUP_DISMISSED' });
    await expect(a.life.dismiss(world.actor(x), topic)).rejects.toMatchObject({ code: 'GROUP_DISMISSED' });
  });
});

describe('transfer', () => {
  it('leaves exactly one owner, who is not muted, and lets the old one leave', async () => {
    const [owner, x] = await world.users(2);
    const topic = await world.group(a, owner, [x]);
    await a.members.patch(world.actor(owner), topic, x, { mutedUntil: new Date(4e12) });
    await a.members.transfer(world.actor(owner), topic, x);
    expect(await a.groups.loadAccess(world.tenant, topic, x)).toMatchObject({ role: 'owner', mutedUntilMs: 0 });
    expect((await a.reads.profile(world.actor(owner), topic)).ownerUid).toBe(x);
    await a.members.remove(world.actor(owner), topic, owner);
    const owners = await world.query("SELECT uid FROM im_group_members WHERE group_id = ? AND role = 'owner'", [
      groupIdOf(topic),
    ]);
    expect(owners).toEqual([{ uid: x }]);
  });
});

describe('many at once', () => {
  it('20 calls that add the same 200 users in different orders from two nodes: each is added once, none fails', async () => {
    const [owner, ...users] = await world.users(201);
    const topic = await world.group(a, owner);
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        (index % 2 ? a : b).members.add(world.actor(owner), topic, shuffled(users, index)),
      ),
    );
    expect(results.flatMap((result) => result.added).length).toBe(200);
    expect(new Set(results.flatMap((result) => result.added)).size).toBe(200);
    expect(await counts(topic)).toEqual({ kept: 201, counted: 201 });
    const joins = [...a.told, ...b.told].filter((told) => 'ask' in told);
    expect(joins.flatMap((told) => ('uids' in told ? told.uids : [])).length).toBe(200);
  });

  it('a storm of adding, leaving and kicking keeps the count right and ends no call with a deadlock', async () => {
    const [owner, admin, ...users] = await world.users(42);
    const topic = await world.group(a, owner, [admin, ...users.slice(0, 20)]);
    await a.members.patch(world.actor(owner), topic, admin, { role: 'admin' });
    const calls = Array.from({ length: 160 }, (_, index) => {
      const node = index % 2 ? a : b;
      const uid = users[(index * 7) % users.length];
      if (index % 4 === 0) return node.members.add(world.actor(admin), topic, shuffled(users, index).slice(0, 15));
      if (index % 4 === 1) return node.members.remove(world.actor(owner), topic, uid);
      if (index % 4 === 2) return node.members.remove(world.actor(uid), topic, uid);
      return node.members.patch(world.actor(admin), topic, uid, { nickname: `N${index}` });
    });
    const outcomes = await Promise.allSettled(calls);
    const failures = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []));
    for (const failure of failures) expect(['NOT_FOUND', 'NOT_MEMBER']).toContain((failure as { code?: string }).code);
    const { kept, counted } = await counts(topic);
    expect(kept).toBe(counted);
    const [{ acl }] = await world.query('SELECT acl_version AS acl FROM im_topic_seq WHERE topic = ?', [topic]);
    expect(Number(acl)).toBe(1 + calls.length - failures.length);
  });

  it('changes of the same group by two owners of the row lock do not overtake: one transfer wins', async () => {
    const [owner, x, y] = await world.users(3);
    const topic = await world.group(a, owner, [x, y]);
    const outcomes = await Promise.allSettled([
      a.members.transfer(world.actor(owner), topic, x),
      b.members.transfer(world.actor(owner), topic, y),
    ]);
    expect(outcomes.map((outcome) => outcome.status).sort()).toEqual(['fulfilled', 'rejected']);
    const owners = await world.query("SELECT uid FROM im_group_members WHERE group_id = ? AND role = 'owner'", [
      groupIdOf(topic),
    ]);
    expect(owners).toHaveLength(1);
  });
});
