import { Stage, type RestAnswer, type TestNode, type TestUser } from '../../support/stage.js';
import { until } from '../../support/until.js';

const ADMIN = 'a'.repeat(40);

let stage: Stage;
let one: TestNode;
let two: TestNode;
const ids: Record<string, string> = {};

beforeAll(async () => {
  stage = await Stage.open();
  for (const code of ['demo', 'rival']) ids[code] = await stage.tenant(code, ['alice', 'bob']);
  [one, two] = [await stage.inProcess(), await stage.inProcess()];
}, 60_000);
afterAll(() => stage.close());

const turn = (what: 'disable' | 'enable', tenant: string, uid: string): Promise<RestAnswer> =>
  stage.call(one, 'POST', `/v1/admin/tenants/${tenant}/users/${uid}/${what}`, {
    token: ADMIN,
    headers: { 'x-operator': 'olga' },
  });
const me = async (node: TestNode, { accessToken }: TestUser): Promise<number> =>
  (await stage.call(node, 'GET', '/v1/im/users/me', { token: accessToken })).status;
const refresh = async ({ refreshToken }: TestUser): Promise<number> =>
  (await stage.call(two, 'POST', '/v1/auth/refresh', { body: { refreshToken } })).status;
const audit = (): Promise<object[]> =>
  stage.sql('demo', 'SELECT actor, action, target, detail FROM im_audit_logs ORDER BY id');

it('a user who is switched off is out on every node at once, and nobody else is; he comes back by a new log-in', async () => {
  const devices = [await stage.login(one, 'demo', 'alice'), await stage.login(two, 'demo', 'alice')];
  const bob = await stage.login(one, 'demo', 'bob');
  const sockets = [await stage.connect(one, devices[0]), await stage.connect(two, devices[1])];
  const other = await stage.connect(two, bob);
  const { uid } = devices[0];

  expect((await turn('disable', ids.demo, uid)).status).toBe(204);
  for (const device of devices) {
    expect([await me(one, device), await me(two, device), await refresh(device)]).toEqual([401, 401, 401]);
  }
  for (const { socket } of sockets) await until('it is closed', () => !socket.connected);
  expect(sockets.map((client) => client.events('session:closing'))).toEqual([
    [expect.objectContaining({ reason: 'revoked' })],
    [expect.objectContaining({ reason: 'revoked' })],
  ]);
  await expect(stage.login(two, 'demo', 'alice')).rejects.toThrow('401');
  expect([await me(one, bob), other.socket.connected]).toEqual([200, true]);

  // Repeating it is no second entry.
  expect((await turn('disable', ids.demo, uid)).status).toBe(204);
  expect((await turn('enable', ids.demo, uid)).status).toBe(204);
  expect(await refresh(devices[0])).toBe(401);
  expect(await me(two, await stage.login(one, 'demo', 'alice'))).toBe(200);
  const by = { operator: 'olga', source: '127.0.0.1' };
  expect(
    (await audit()).map((row) => ({ ...row, detail: JSON.parse((row as { detail: string }).detail) as object })),
  ).toEqual([
    { actor: '0', action: 'user.disable', target: uid, detail: by },
    { actor: '0', action: 'user.enable', target: uid, detail: by },
  ]);
});

it('log-ins and refreshes that run meanwhile leave no session behind', async () => {
  const bob = await stage.login(one, 'demo', 'bob');
  const running = Array.from({ length: 12 }, (_, at) =>
    at % 3 === 0
      ? refresh(bob)
      : stage.login(at % 2 === 0 ? one : two, 'demo', 'bob').then(
          (user) => user,
          () => null,
        ),
  );
  expect((await turn('disable', ids.demo, bob.uid)).status).toBe(204);
  const logins = (await Promise.all(running)).filter((user) => user !== null && typeof user === 'object');
  for (const user of [bob, ...logins]) expect([await me(one, user), await me(two, user)]).toEqual([401, 401]);
  expect(await stage.sql('demo', 'SELECT 1 FROM im_sessions WHERE uid = ? AND revoked_at IS NULL', [bob.uid])).toEqual(
    [],
  );
});

it('takes the operator’s token only, and a user and a tenant that there are', async () => {
  const { uid, accessToken } = await stage.login(one, 'rival', 'alice');
  const path = `/v1/admin/tenants/${ids.rival}/users/${uid}/disable`;
  expect((await stage.call(one, 'POST', path, { token: accessToken })).status).toBe(401);
  expect((await turn('disable', ids.rival, '999999')).body.code).toBe('NOT_FOUND');
  expect((await turn('disable', '999999', uid)).body.code).toBe('TENANT_UNKNOWN');
  expect((await turn('disable', ids.rival, 'x')).body.code).toBe('VALIDATION_FAILED');
  expect((await stage.call(one, 'GET', '/v1/im/users/me', { token: accessToken })).status).toBe(200);
});
