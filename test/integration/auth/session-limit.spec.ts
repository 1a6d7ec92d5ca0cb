import type { TestNode } from '../../support/stage.js';
import { PASSWORD, until, World } from './world.js';

const MOST = 3;
let world: World;
let second: TestNode;

beforeAll(async () => {
  world = await World.open(async (stage) => {
    await stage.tenant('demo', ['alice', 'bob', 'carol', 'dave'], { sessionsPerUser: MOST });
    await stage.tenant('plain', ['alice']);
  });
  second = await world.stage.inProcess();
}, 60_000);
afterAll(() => world.close());

type Session = Awaited<ReturnType<World['login']>>;

const statusOf = async (session: Session, node: TestNode = world.node): Promise<number> =>
  (await world.stage.call(node, 'GET', '/v1/im/users/me', { token: session.accessToken })).status;
const standing = (account: string): Promise<{ id: string; reason: string | null }[]> =>
  world.sql(
    'demo',
    `SELECT s.id, s.reason FROM im_sessions s JOIN im_users u ON u.id = s.uid
     WHERE u.account = ? AND s.revoked_at IS NULL`,
    [account],
  );

describe('sessions above the limit', () => {
  it('end the one that was unused for longest: its tokens are void, its sockets are closed on all nodes', async () => {
    const [used, unused, third] = [
      await world.login('demo', 'alice'),
      await world.login('demo', 'alice'),
      await world.login('demo', 'alice'),
    ];
    const here = await world.stage.connect(world.node, unused);
    const there = await world.stage.connect(second, unused);
    const kept = await world.stage.connect(second, third);
    const refreshed = (await world.refresh(used.refreshToken)).body;
    const began = performance.now();
    const newest = await world.login('demo', 'alice');
    await until('both sockets are closed', () => !here.socket.connected && !there.socket.connected);
    expect(performance.now() - began).toBeLessThan(5_000);
    expect(kept.socket.connected).toBe(true);
    for (const node of [world.node, second]) expect(await statusOf(unused, node)).toBe(401);
    expect((await world.refresh(unused.refreshToken)).status).toBe(401);
    expect(await statusOf({ ...used, ...refreshed })).toBe(200);
    expect(await statusOf(third, second)).toBe(200);
    expect(await statusOf(newest, second)).toBe(200);
    const [ended] = await world.sql<{ n: string }>(
      'demo',
      "SELECT COUNT(*) AS n FROM im_sessions WHERE reason = 'too_many'",
    );
    expect(Number(ended.n)).toBe(1);
  });

  it('are never more, however many logins come at once on two nodes', async () => {
    const tokens = await Promise.all(Array.from({ length: 12 }, () => world.loginToken('demo')));
    const answers = await Promise.all(
      tokens.map((loginToken, index) =>
        world.stage.call<Session>(index % 2 ? second : world.node, 'POST', '/v1/auth/login', {
          body: { loginToken, account: 'bob', password: PASSWORD },
        }),
      ),
    );
    const letIn = answers.filter(({ status }) => status === 200);
    expect(letIn.length).toBeGreaterThan(MOST);
    expect(await standing('bob')).toHaveLength(MOST);
    const usable = await Promise.all(letIn.map(({ body }) => statusOf(body, second)));
    expect(usable.filter((status) => status === 200)).toHaveLength(MOST);
  }, 30_000);

  it('do not come back by a refresh that runs at the same time', async () => {
    for (let round = 0; round < 8; round += 1) {
      const oldest = await world.login('demo', 'carol');
      for (let index = 1; index < MOST; index += 1) await world.login('demo', 'carol');
      const [, ...refreshed] = await Promise.all([
        world.login('demo', 'carol'),
        world.refresh(oldest.refreshToken),
        world.refresh(oldest.refreshToken),
      ]);
      const sessions = await standing('carol');
      expect(sessions).toHaveLength(MOST);
      // Either the refresh was first and its session is not the oldest any more, or everything of it is void.
      const sid = sidOf(oldest.accessToken);
      const stands = sessions.some(({ id }) => String(id) === sid);
      for (const { status, body } of refreshed) {
        if (status !== 200) continue;
        expect(await statusOf({ ...oldest, ...body })).toBe(stands ? 200 : 401);
        if (!stands) expect((await world.refresh(body.refreshToken)).status).toBe(401);
      }
      expect(stands || (await statusOf(oldest)) === 401).toBe(true);
    }
  }, 60_000);

  it('are of the user alone, and fifty where the tenant says nothing', async () => {
    const dave = await world.login('demo', 'dave');
    const first = await world.login('plain', 'alice');
    for (let index = 0; index < MOST + 2; index += 1) await world.login('plain', 'alice');
    expect(await statusOf(first)).toBe(200);
    expect(await statusOf(dave)).toBe(200);
  });
});

const sidOf = (token: string): string =>
  (JSON.parse(Buffer.from(token.split('.')[1], 'base64url').toString()) as { sid: string }).sid;
