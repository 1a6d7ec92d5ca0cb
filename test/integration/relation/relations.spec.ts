import { RelationService } from '../../../src/modules/relation/relation.service.js';
import { asTenantId, asUserId, type TenantId } from '../../../src/platform/ids/ids.js';
import type { TestUser } from '../../support/stage.js';
import { until, World } from '../auth/world.js';

let world: World;
let tenant: TenantId;
let users: Record<'anna' | 'bert' | 'cleo' | 'dora', TestUser>;
let rival: TestUser;

const BASE = '/v1/im/relations';

beforeAll(async () => {
  world = await World.open(async (stage) => {
    tenant = asTenantId(await stage.tenant('demo', ['anna', 'bert', 'cleo', 'dora']));
    await stage.tenant(
      'rival',
      Array.from({ length: 6 }, (_, index) => `carol${index}`),
    );
  });
  const [anna, bert, cleo, dora] = await Promise.all(
    ['anna', 'bert', 'cleo', 'dora'].map((name) => world.login('demo', name)),
  );
  users = { anna, bert, cleo, dora };
  rival = await world.login('rival', 'carol0');
}, 30_000);
afterAll(() => world.close());

const call = (user: TestUser, method: string, path: string, body?: unknown) =>
  world.call<Record<string, unknown>>(method, `${BASE}${path}`, { token: user.accessToken, body });
const context = async (user: TestUser, other: TestUser) => (await call(user, 'GET', `/context?uid=${other.uid}`)).body;
const uidsOf = async (user: TestUser, list: string): Promise<string[]> => {
  const { body } = await call(user, 'GET', `/${list}`);
  return (body.items as { uid: string }[]).map(({ uid }) => uid);
};

it('a request is asked once, accepted by its receiver alone, and makes friends of both', async () => {
  const { anna, bert, cleo } = users;
  const asked = await call(anna, 'POST', '/friend-requests', { uid: bert.uid, message: 'hi' });
  expect(asked).toMatchObject({ status: 201, body: { state: 'pending' } });
  const { id } = asked.body as { id: string };
  expect((await call(anna, 'POST', '/friend-requests', { uid: bert.uid })).body).toEqual({ id, state: 'pending' });
  expect((await call(bert, 'GET', '/friend-requests')).body.items).toMatchObject([
    { id, from: anna.uid, to: bert.uid, message: 'hi', state: 'pending', user: { nickname: 'anna' } },
  ]);
  expect((await call(anna, 'GET', '/friend-requests?direction=outgoing')).body.items).toMatchObject([{ id }]);
  expect((await call(anna, 'GET', '/friend-requests')).body.items).toEqual([]);
  for (const stranger of [anna, cleo]) {
    expect(await call(stranger, 'POST', `/friend-requests/${id}/accept`)).toMatchObject({ status: 404 });
  }
  expect((await context(anna, bert)).isFriend).toBe(false);
  for (let round = 0; round < 2; round += 1) {
    expect((await call(bert, 'POST', `/friend-requests/${id}/accept`)).status).toBe(204);
  }
  expect([await uidsOf(anna, 'friends'), await uidsOf(bert, 'friends')]).toEqual([[bert.uid], [anna.uid]]);
  expect([(await context(anna, bert)).isFriend, (await context(bert, anna)).isFriend]).toEqual([true, true]);
  expect(await call(bert, 'POST', `/friend-requests/${id}/reject`)).toMatchObject({ body: { code: 'CONFLICT' } });
  expect(await call(anna, 'POST', '/friend-requests', { uid: bert.uid })).toMatchObject({ body: { code: 'CONFLICT' } });
  expect((await call(anna, 'DELETE', `/friends/${bert.uid}`)).status).toBe(204);
  expect([(await context(anna, bert)).isFriend, await uidsOf(bert, 'friends')]).toEqual([false, []]);
});

it('two who ask each other are friends, also when they ask at the same time', async () => {
  const { anna, dora } = users;
  const answers = await Promise.all([
    call(anna, 'POST', '/friends', { uid: dora.uid }),
    call(dora, 'POST', '/friends', { uid: anna.uid }),
  ]);
  expect(answers.map(({ body }) => body.state as string).sort()).toEqual(['accepted', 'pending']);
  expect((await context(dora, anna)).isFriend).toBe(true);
  expect((await call(anna, 'GET', '/friend-requests')).body.items).toEqual([]);
  await call(anna, 'DELETE', `/friends/${dora.uid}`);
});

it('a rejected or withdrawn request is over, and may be asked again', async () => {
  const { cleo, dora } = users;
  const ask = async () => (await call(cleo, 'POST', '/friend-requests', { uid: dora.uid })).body as { id: string };
  const { id } = await ask();
  expect((await call(dora, 'POST', `/friend-requests/${id}/reject`)).status).toBe(204);
  expect((await context(cleo, dora)).isFriend).toBe(false);
  expect(await call(dora, 'POST', `/friend-requests/${id}/accept`)).toMatchObject({ status: 409 });
  const again = await ask();
  expect((await call(dora, 'DELETE', `/friend-requests/${again.id}`)).status).toBe(404);
  expect((await call(cleo, 'DELETE', `/friend-requests/${again.id}`)).status).toBe(204);
  expect((await call(dora, 'GET', '/friend-requests')).body.items).toEqual([]);
});

it('a block is blocked in both directions, at once, and tells no more than that', async () => {
  const { anna, cleo } = users;
  await call(anna, 'POST', '/friend-requests', { uid: cleo.uid });
  await call(anna, 'POST', '/following', { uid: cleo.uid });
  expect(await context(anna, cleo)).toMatchObject({ canStartChat: true, canSeePresence: true, iFollow: true });
  expect((await call(cleo, 'POST', '/blocklist', { uid: anna.uid })).status).toBe(204);
  const nothing = { canStartChat: false, canSeePresence: false, canSeeLastSeen: false };
  expect(await context(anna, cleo)).toEqual({
    uid: cleo.uid,
    isFriend: false,
    iBlocked: false,
    iFollow: false,
    ...nothing,
  });
  expect(await context(cleo, anna)).toMatchObject({ iBlocked: true, ...nothing });
  expect(await uidsOf(cleo, 'blocklist')).toEqual([anna.uid]);
  expect((await call(cleo, 'GET', '/friend-requests')).body.items).toEqual([]);
  for (const [one, other] of [
    [anna, cleo],
    [cleo, anna],
  ]) {
    for (const path of ['/friend-requests', '/friends', '/following']) {
      expect(await call(one, 'POST', path, { uid: other.uid })).toMatchObject({
        status: 403,
        body: { code: 'BLOCKED' },
      });
    }
  }
  expect((await call(cleo, 'DELETE', `/blocklist/${anna.uid}`)).status).toBe(204);
  expect(await context(anna, cleo)).toMatchObject({ canStartChat: true, canSeePresence: true });
});

it('privacy settings count from the moment they are stored', async () => {
  const { anna, bert } = users;
  const patch = (privacy: unknown) =>
    world.call<{ privacy: unknown }>('PATCH', '/v1/im/users/me', { token: bert.accessToken, body: { privacy } });
  expect(await context(anna, bert)).toMatchObject({ canSeePresence: true, canSeeLastSeen: true });
  expect((await patch({ presence: 'nobody' })).body.privacy).toEqual({
    presence: 'nobody',
    lastSeen: 'everyone',
    addToGroups: 'everyone',
  });
  expect(await context(anna, bert)).toMatchObject({ canSeePresence: false, canSeeLastSeen: true });
  await patch({ presence: 'friends', lastSeen: 'friends' });
  expect(await context(anna, bert)).toMatchObject({ canSeePresence: false, canSeeLastSeen: false });
  await world.get(RelationService).befriend(tenant, asUserId(anna.uid), asUserId(bert.uid));
  expect(await context(anna, bert)).toMatchObject({ canSeePresence: true, canSeeLastSeen: true });
  expect((await patch({ presence: 'all' })).status).toBe(400);
  expect((await patch({ presence: null })).status).toBe(400);
  expect((await patch([])).status).toBe(400);
  await patch({ presence: 'everyone', lastSeen: 'everyone' });
  await call(anna, 'DELETE', `/friends/${bert.uid}`);
});

it('lists are paged by cursors that are good for one list of one user', async () => {
  const others = await Promise.all([1, 2, 3, 4, 5].map((index) => world.login('rival', `carol${index}`)));
  for (const other of others) await call(rival, 'POST', '/following', { uid: other.uid });
  const seen: string[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const { body } = await call(rival, 'GET', `/following?limit=2${cursor && `&cursor=${cursor}`}`);
    seen.push(...(body.items as { uid: string }[]).map(({ uid }) => uid));
    cursor = body.nextCursor as string | null;
    if (cursor === null) break;
    for (const [user, list] of [
      [rival, 'friends'],
      [others[0], 'following'],
      [users.anna, 'following'],
    ] as const) {
      expect(await call(user, 'GET', `/${list}?cursor=${cursor}`)).toMatchObject({ status: 400 });
    }
  }
  expect(seen).toEqual(others.map(({ uid }) => uid));
});

it.each([
  ['POST', '/blocklist', {}],
  ['POST', '/blocklist', { uid: 2 }],
  ['POST', '/blocklist', { uid: "1' OR 1=1" }],
  ['POST', '/following', { uid: '2', more: 1 }],
  ['DELETE', '/blocklist/0', undefined],
  ['DELETE', '/friends/x', undefined],
  ['POST', '/friend-requests', { uid: '2', message: 'a\nb' }],
  ['POST', '/friend-requests/x/accept', undefined],
  ['GET', '/friends?limit=0', undefined],
  ['GET', '/friends?limit=201', undefined],
  ['GET', '/friend-requests?direction=both', undefined],
  ['GET', '/context', undefined],
  ['GET', '/context?uid=1&uid=2', undefined],
])('%s %s %j is refused', async (method, path, body) => {
  expect(await call(users.dora, method, path, body)).toMatchObject({
    status: 400,
    body: { code: 'VALIDATION_FAILED' },
  });
});

it('nobody relates to himself, to nobody, or to another tenant', async () => {
  const { dora } = users;
  for (const path of ['/blocklist', '/following', '/friend-requests']) {
    expect((await call(dora, 'POST', path, { uid: dora.uid })).status).toBe(400);
    expect((await call(dora, 'POST', path, { uid: '999999999' })).status).toBe(404);
    expect((await call(dora, 'POST', path, { uid: String(Number(rival.uid) + 5) })).status).toBe(404);
  }
});

describe('while Redis is away', () => {
  beforeAll(() => world.redis.cut());
  afterAll(async () => {
    world.redis.mend();
    await until(
      'the relations are confirmed',
      async () => {
        const { status } = await call(users.dora, 'POST', '/blocklist', { uid: users.bert.uid });
        return status === 204;
      },
      15_000,
    );
    // Confirmed: the block counts, through the cache again.
    expect((await context(users.bert, users.dora)).canStartChat).toBe(false);
  });

  it('reads come from MySQL, and what is stored stays stored', async () => {
    const { anna, bert, dora } = users;
    expect(await context(anna, bert)).toMatchObject({ canStartChat: true });
    // Taking something away is confirmed only when no node can read the old state any more.
    expect(await call(dora, 'POST', '/blocklist', { uid: bert.uid })).toMatchObject({
      status: 503,
      body: { code: 'SHORT_STATE_UNAVAILABLE', retryable: true },
    });
    expect(await context(bert, dora)).toMatchObject({ canStartChat: false });
    expect(await uidsOf(dora, 'blocklist')).toEqual([bert.uid]);
    expect((await call(anna, 'POST', '/following', { uid: bert.uid })).status).toBe(204);
    expect(await context(anna, bert)).toMatchObject({ iFollow: true });
    const asked = (await call(anna, 'POST', '/friend-requests', { uid: bert.uid })).body as { id: string };
    expect((await call(bert, 'POST', `/friend-requests/${asked.id}/accept`)).status).toBe(204);
    expect(await context(anna, bert)).toMatchObject({ isFriend: true });
    expect((await call(anna, 'DELETE', `/friends/${bert.uid}`)).status).toBe(503);
    expect(await context(anna, bert)).toMatchObject({ isFriend: false });
    expect(
      (await world.call('PATCH', '/v1/im/users/me', { token: anna.accessToken, body: { nickname: 'Anna 2' } })).status,
    ).toBe(200);
  });
});
