import { UserService } from '../../../src/modules/user/user.service.js';
import { asTenantId, type TenantId, type UserId } from '../../../src/platform/ids/ids.js';
import type { TestUser } from '../../support/stage.js';
import { World } from '../auth/world.js';

let world: World;
let tenant: TenantId;
let alice: TestUser;
let bob: TestUser;

beforeAll(async () => {
  world = await World.open(async (stage) => {
    tenant = asTenantId(await stage.tenant('demo', ['alice', 'bob']));
    await stage.tenant('rival', ['carol']);
  });
  alice = await world.login('demo', 'alice');
  bob = await world.login('demo', 'bob');
}, 30_000);
afterAll(() => world.close());

const get = (path: string, user: TestUser) => world.call('GET', path, { token: user.accessToken });
const patch = (body: unknown) => world.call('PATCH', '/v1/im/users/me', { token: alice.accessToken, body });

it('shows the account to its owner alone, and nothing that is private to anybody', async () => {
  const privacy = { presence: 'everyone', lastSeen: 'everyone', addToGroups: 'everyone' };
  const own = { uid: alice.uid, account: 'alice', nickname: 'alice', avatar: '', signature: '', privacy };
  expect((await get('/v1/im/users/me', alice)).body).toEqual(own);
  const { account, privacy: ownPrivacy, ...others } = own;
  expect([account, ownPrivacy]).toEqual(['alice', privacy]);
  expect((await get(`/v1/im/users/${alice.uid}`, bob)).body).toEqual(others);
  expect((await get(`/v1/im/users?uids=${alice.uid}`, bob)).body).toEqual({ items: [others] });
});

it('changes what is given and leaves the rest', async () => {
  const given = { nickname: 'Al 🎉', signature: 'hi', gender: 'other', region: 'Zürich' };
  expect(await patch(given)).toMatchObject({ status: 200, body: given });
  expect((await patch({ signature: '' })).body).toMatchObject({ ...given, signature: '' });
  expect((await get(`/v1/im/users/${alice.uid}`, bob)).body).toMatchObject({ ...given, signature: '' });
  const without = (await patch({ gender: null, region: null })).body;
  expect(without).toMatchObject({ uid: alice.uid, account: 'alice', nickname: 'Al 🎉', avatar: '', signature: '' });
  expect(Object.keys(without).sort()).toEqual(['account', 'avatar', 'nickname', 'privacy', 'signature', 'uid']);
  expect((await patch({})).body).toEqual(without);
  expect((await get(`/v1/im/users/${bob.uid}`, alice)).body.nickname).toBe('bob');
});

it('finds several at once, in the order asked for, each once', async () => {
  const uids = [bob.uid, '999999', alice.uid, bob.uid].join(',');
  const { body } = await world.call<{ items: { uid: string }[] }>('GET', `/v1/im/users?uids=${uids}`, {
    token: alice.accessToken,
  });
  expect(body.items.map((user) => user.uid)).toEqual([bob.uid, alice.uid]);
});

it.each([
  ['/v1/im/users', 400],
  ['/v1/im/users?uids=', 400],
  ['/v1/im/users?uids=1&limit=5', 400],
  ['/v1/im/users?uids[a]=1', 400],
  ['/v1/im/users/0', 400],
  ['/v1/im/users/1%20OR%201=1', 400],
  ['/v1/im/users/undefined', 400],
  ['/v1/im/users/99999999999999999999', 400],
  ['/v1/im/users/999999', 404],
])('answers %s by %d', async (path, status) => {
  expect((await get(path, alice)).status).toBe(status);
});

it.each([undefined, null, '', '0', {}, ['1'], { not: 1 }])('never takes %j for a user', async (wrong) => {
  const users = world.get(UserService);
  const uid = wrong as unknown as UserId;
  await expect(users.ownProfile(tenant, uid)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await expect(users.publicProfiles(tenant, [uid])).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
  await expect(users.patchProfile(tenant, uid, { nickname: 'x' })).rejects.toMatchObject({ code: 'NOT_FOUND' });
  expect(await users.isActive(tenant, uid)).toBe(false);
  expect(await users.findByAccount(tenant, wrong as unknown as string)).toBeNull();
  const names = await world.sql<{ nickname: string }>('demo', "SELECT nickname FROM im_users WHERE nickname = 'x'");
  expect(names).toEqual([]);
});

it('keeps ids beyond 2^53 exact', async () => {
  const id = '9007199254740993';
  await world.sql('demo', "INSERT INTO im_users (id, account, nickname) VALUES (?, 'huge', 'Huge')", [id]);
  const next = '9007199254740992';
  await world.sql('demo', "INSERT INTO im_users (id, account, nickname) VALUES (?, 'near', 'Near')", [next]);
  expect((await get(`/v1/im/users/${id}`, alice)).body).toMatchObject({ uid: id, nickname: 'Huge' });
  const both = await get(`/v1/im/users?uids=${next},${id}`, alice);
  expect(both.body.items).toMatchObject([{ nickname: 'Near' }, { nickname: 'Huge' }]);
});
