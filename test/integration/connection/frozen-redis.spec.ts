import { World } from '../auth/world.js';
import type { TestUser } from '../../support/stage.js';

/** REDIS_READ_TIMEOUT_MS is 800: one of them, and room for a slow machine; two in a row are more. */
const ONE_TIMEOUT_MS = 1_500;

let world: World;
let alice: TestUser;
let bob: TestUser;
let topic: string;

beforeAll(async () => {
  world = await World.open(async (stage) => void (await stage.tenant('demo', ['alice', 'bob', 'carol'])));
  [alice, bob] = [await world.login('demo', 'alice'), await world.login('demo', 'bob')];
  topic = await world.stage.group(world.node, alice, [bob]);
}, 60_000);
afterAll(async () => {
  world.redis.release();
  await world.close();
});

it('a call that asks Redis several times waits for a frozen one once', async () => {
  const group = `/v1/im/groups/${topic}`;
  const calls: [string, string, unknown?][] = [
    ['POST', `/v1/im/topics/${topic}/messages`, { clientMsgId: 'm1', type: 'text', content: { text: 'hi' } }],
    ['GET', `/v1/im/topics/${topic}/messages`],
    ['GET', `${group}/members`],
    ['GET', `/v1/im/relations/context?uid=${bob.uid}`],
    ['GET', '/v1/im/unread'],
    ['GET', '/v1/im/topics'],
    ['GET', '/v1/im/bootstrap'],
    ['POST', '/v1/im/groups', { name: 'new', memberUids: [] }],
    ['DELETE', `${group}/members/${bob.uid}`],
  ];
  world.redis.freeze();
  const took: Record<string, number> = {};
  const statuses = new Set<number>();
  for (const [method, path, body] of calls) {
    // The breaker lets one ask again, who then waits: each of these is the first one.
    await new Promise((resolve) => setTimeout(resolve, 600));
    const began = performance.now();
    const { status } = await world.call(method, path, { token: alice.accessToken, body });
    took[`${method} ${path}`] = performance.now() - began;
    statuses.add(status);
  }
  expect(Object.entries(took).filter(([, ms]) => ms > ONE_TIMEOUT_MS)).toEqual([]);
  // At least one of them did wait, or nothing was tried here.
  expect(Math.max(...Object.values(took))).toBeGreaterThan(500);
  expect([...statuses].filter((status) => status !== 503 && status >= 300)).toEqual([]);
}, 60_000);
