import { asUserId, type Topic, type UserId } from '../../../src/platform/ids/ids.js';
import { groupIdOf } from '../../../src/platform/ids/topic.js';
import type { MemberItem, MemberPageRequest } from '../../../src/modules/group/member-list.js';
import { World, type Node } from './world.js';

let world: World;
let node: Node;
let owner: UserId;

beforeAll(async () => {
  world = await World.open();
  node = await world.node();
  [owner] = await world.users(1);
});
afterAll(() => world.close());

const page = (topic: Topic, request: Partial<MemberPageRequest> = {}, actor = owner) =>
  node.list.page(world.actor(actor), topic, { limit: 50, ...request });

/** Reads on to the end; `between` runs after every page. */
async function readAll(
  topic: Topic,
  request: Partial<MemberPageRequest>,
  between: (pages: number) => Promise<unknown> = () => Promise.resolve(),
): Promise<MemberItem[]> {
  const items: MemberItem[] = [];
  let cursor: string | undefined;
  for (let pages = 1; ; pages += 1) {
    const found = await page(topic, { ...request, cursor });
    items.push(...found.items);
    if (found.nextCursor === null) return items;
    expect(found.items.length).toBe(request.limit);
    cursor = found.nextCursor;
    await between(pages);
  }
}

async function sameJoinTime(topic: Topic): Promise<void> {
  await world.query("UPDATE im_group_members SET joined_at = '2026-01-01 00:00:00.500' WHERE group_id = ?", [
    groupIdOf(topic),
  ]);
}

const uidsOf = (items: readonly MemberItem[]): UserId[] => items.map((item) => item.uid);

describe('paging', () => {
  it.each([1, 3, 10, 26])(
    'shows everybody once in the order role, joined, uid when all joined at one moment (%i a page)',
    async (limit) => {
      const users = await world.users(25);
      const topic = await world.group(node, owner, users);
      const admins = [users[20], users[3]];
      for (const admin of admins) await node.members.patch(world.actor(owner), topic, admin, { role: 'admin' });
      await sameJoinTime(topic);
      const shown = await readAll(topic, { limit });
      const plain = users.filter((uid) => !admins.includes(uid));
      expect(uidsOf(shown)).toEqual([owner, users[3], users[20], ...plain]);
      expect((await page(topic, { limit })).total).toBe(26);
    },
  );

  it('orders ids as numbers and by the time of joining first', async () => {
    const users = await world.users(12);
    const topic = await world.group(node, owner, users);
    await sameJoinTime(topic);
    await world.query("UPDATE im_group_members SET joined_at = '2025-01-01 00:00:00' WHERE group_id = ? AND uid = ?", [
      groupIdOf(topic),
      users[11],
    ]);
    expect(uidsOf(await readAll(topic, { limit: 5 }))).toEqual([owner, users[11], ...users.slice(0, 11)]);
  });

  it('neither hides nor repeats those who stay while others come, go and come back', async () => {
    const users = await world.users(60);
    const [stay, go, come] = [users.slice(0, 40), users.slice(40, 50), users.slice(50)];
    const topic = await world.group(node, owner, [...stay, ...go]);
    await sameJoinTime(topic);
    const boss = world.actor(owner);
    const shown = await readAll(topic, { limit: 6 }, async (pages) => {
      const [leaver, comer] = [go[pages % 10], come[pages % 10]];
      await node.members.add(boss, topic, [comer]);
      await node.members.remove(boss, topic, leaver);
      if (pages % 3 === 0) await node.members.add(boss, topic, [leaver]);
      await node.members.patch(boss, topic, stay[pages], { nickname: `N${pages}`, mutedUntil: new Date(4e12) });
    });
    const times = new Map<UserId, number>();
    for (const { uid } of shown) times.set(uid, (times.get(uid) ?? 0) + 1);
    for (const uid of [owner, ...stay]) expect([uid, times.get(uid)]).toEqual([uid, 1]);
  });

  it('ends with null, also when the last page is exactly full', async () => {
    const topic = await world.group(node, owner, await world.users(3));
    const first = await page(topic, { limit: 2 });
    const second = await page(topic, { limit: 2, cursor: first.nextCursor as string });
    expect(second).toMatchObject({ nextCursor: null, total: 4 });
    expect(second.items).toHaveLength(2);
    expect((await page(topic, { limit: 4 })).nextCursor).toBeNull();
  });
});

describe('an item', () => {
  it('holds the fields of the protocol, and nothing of the account that is not public', async () => {
    const [uid] = await world.users(1);
    const topic = await world.group(node, owner, [uid]);
    await node.members.patch(world.actor(owner), topic, uid, { nickname: 'Nick', mutedUntil: new Date(4e12) });
    const { items } = await page(topic, { role: 'member' });
    expect(items).toEqual([
      {
        uid,
        role: 'member',
        nickname: 'Nick',
        mutedUntil: new Date(4e12).toISOString(),
        joinedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string,
        user: expect.objectContaining({ uid, avatar: '', signature: '' }) as object,
      },
    ]);
    expect(JSON.stringify(items)).not.toMatch(/account|password|status/);
    await node.members.patch(world.actor(owner), topic, uid, { mutedUntil: new Date(1_000_000_000_000) });
    expect((await page(topic, { role: 'member' })).items[0].mutedUntil).toBeNull();
  });
});

describe('filters', () => {
  it('by role, mute and the beginning of the name seen in the group, with their own totals', async () => {
    const users = await world.users(6);
    const topic = await world.group(node, owner, users);
    const boss = world.actor(owner);
    const rename = (uid: UserId, nickname: string): Promise<void> => node.members.patch(boss, topic, uid, { nickname });
    await rename(users[0], '100% Bob');
    await rename(users[1], '100 Bob');
    await rename(users[2], 'a_b');
    await rename(users[3], 'aXb');
    await rename(users[4], 'it!s');
    await node.members.patch(boss, topic, users[1], { mutedUntil: new Date(4e12) });
    await node.members.patch(boss, topic, users[2], { role: 'admin' });
    const found = async (request: Partial<MemberPageRequest>): Promise<[UserId[], number]> => {
      const { items, total } = await page(topic, request);
      return [uidsOf(items), total];
    };
    expect(await found({ q: '100%' })).toEqual([[users[0]], 1]);
    expect(await found({ q: '100' })).toEqual([[users[0], users[1]], 2]);
    expect(await found({ q: 'a_' })).toEqual([[users[2]], 1]);
    expect(await found({ q: 'A' })).toEqual([[users[2], users[3]], 2]);
    expect(await found({ q: 'it!' })).toEqual([[users[4]], 1]);
    expect(await found({ q: "' OR 1=1 -- " })).toEqual([[], 0]);
    expect(await found({ q: 'Name' })).toEqual([[owner, users[5]], 2]);
    expect(await found({ status: 'muted' })).toEqual([[users[1]], 1]);
    expect(await found({ role: 'admin' })).toEqual([[users[2]], 1]);
    expect(await found({ role: 'admin', q: '100' })).toEqual([[], 0]);
  });
});

describe('a cursor', () => {
  it('is refused in another group, under other filters, changed or as garbage', async () => {
    const users = await world.users(5);
    const topic = await world.group(node, owner, users);
    const other = await world.group(node, owner, users);
    const cursor = (await page(topic, { limit: 2 })).nextCursor as string;
    const refused = { code: 'VALIDATION_FAILED', details: [{ field: 'cursor' }] };
    await expect(page(other, { cursor })).rejects.toMatchObject(refused);
    await expect(page(topic, { cursor, role: 'member' })).rejects.toMatchObject(refused);
    await expect(page(topic, { cursor, q: 'N' })).rejects.toMatchObject(refused);
    const foreign = node.list.page({ ...world.actor(owner), tenant: '8' as typeof world.tenant }, topic, {
      limit: 2,
      cursor,
    });
    await expect(foreign).rejects.toMatchObject(refused);
    for (const bad of [
      '',
      'x',
      '0',
      `${cursor.slice(0, -2)}AA`,
      cursor.toUpperCase(),
      Buffer.from('0,0,1').toString('base64url'),
    ]) {
      await expect(page(topic, { cursor: bad })).rejects.toMatchObject(refused);
    }
    // Another limit and another member who reads on are fine: both see the same list.
    expect((await page(topic, { cursor, limit: 9 }, users[0])).items).toHaveLength(4);
    await expect(page(topic, { cursor }, asUserId('888888'))).rejects.toMatchObject({ code: 'NOT_MEMBER' });
  });
});
