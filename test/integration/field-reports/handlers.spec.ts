import { HttpException } from '@nestjs/common';
import { QueryFailedError } from 'typeorm';
import { MembershipService } from '../../../src/connection/membership.service.js';
import { AuthService } from '../../../src/modules/auth/auth.service.js';
import { SocketRouter } from '../../../src/platform/socket/socket-router.js';
import type { Application } from '../../../src/application.js';
import type { Ack, TestClient } from '../../support/client.js';
import { Stage, type TestNode, type TestUser } from '../../support/stage.js';
import { until } from '../../support/until.js';
import { strayErrors } from '../house/metrics.js';

/** B66: whatever a handler throws becomes one acknowledgement, and nothing of the inside comes out with it. */
const INSIDE = 'SELECT password_hash FROM im_users';

const query = (): Error =>
  new QueryFailedError(
    INSIDE,
    [],
    Object.assign(new Error(`Table ${INSIDE}`), { errno: 1146, code: 'ER_NO_SUCH_TABLE' }),
  );

const THROWN: readonly (readonly [what: string, fail: () => unknown])[] = [
  [
    'an error',
    () => {
      throw new Error(INSIDE);
    },
  ],
  ['a rejection', () => Promise.reject(new Error(INSIDE))],
  [
    'an HTTP exception',
    () => {
      throw new HttpException(INSIDE, 418);
    },
  ],
  ['an error of the ORM', () => Promise.reject(query())],
  [
    'a text',
    () => {
      throw INSIDE as unknown;
    },
  ],
  [
    'nothing',
    async () => {
      await Promise.resolve();
      throw undefined as unknown;
    },
  ],
  [
    'null',
    () => {
      throw null as unknown;
    },
  ],
];

interface Route {
  handle: (...args: unknown[]) => unknown;
}

let stage: Stage;
let node: TestNode & { readonly application: Application };
let alice: TestUser;
let a: TestClient;
let routes: Map<string, Route>;

beforeAll(async () => {
  stage = await Stage.open();
  await stage.tenant('demo', ['alice']);
  node = await stage.inProcess();
  alice = await stage.login(node, 'demo', 'alice');
  a = await stage.connect(node, alice);
  routes = (node.application.nest.get(SocketRouter) as unknown as { routes: Map<string, Route> }).routes;
}, 60_000);
afterAll(() => stage.close());
afterEach(() => jest.restoreAllMocks());

/** A payload that passes the validation of each event. */
const VALID: Record<string, object> = {
  'topic:subscribe': { topics: ['grp_1'] },
  'topic:unsubscribe': { topics: ['grp_1'] },
  'message:send': { topic: 'grp_1', clientMsgId: 'x', type: 'text', content: { text: 'x' } },
  'message:history': { topic: 'grp_1' },
  'message:edit': { topic: 'grp_1', seq: 1, version: 1, content: { text: 'x' } },
  'message:recall': { topic: 'grp_1', seq: 1 },
  'message:remove': { topic: 'grp_1', seq: 1 },
  'message:delete': { topic: 'grp_1', seqs: [1] },
  'topic:changes': { topic: 'grp_1', afterChange: 0 },
  'topic:read': { topic: 'grp_1', seq: 1 },
  'topic:received': { topic: 'grp_1', seq: 1 },
  'topic:typing': { topic: 'grp_1' },
  'presence:get': { uids: ['1'] },
  'presence:watch': { uids: ['1'] },
  'presence:unwatch': { uids: ['1'] },
  'session:heartbeat': {},
  'session:renew': { token: 'x' },
};

it('every event has a payload here, so that a new one cannot be forgotten', () => {
  expect([...routes.keys()].filter((event) => VALID[event] === undefined)).toEqual([]);
});

it.each(THROWN)('%s from a handler is one refusal of each event', async (_what, fail) => {
  for (const [event, route] of routes) {
    jest.spyOn(route, 'handle').mockImplementation(fail as Route['handle']);
    const acks: Ack[] = [];
    a.socket.emit(event, VALID[event], (ack: Ack) => acks.push(ack));
    await until(`${event} is answered`, () => acks.length > 0);
    expect(acks[0]).toMatchObject({ ok: false, error: { code: 'INTERNAL', retryable: false } });
    expect(JSON.stringify(acks)).not.toMatch(/SELECT|password|im_users|node_modules/);
    expect(acks).toHaveLength(1);
  }
  jest.restoreAllMocks();
  expect(await a.emit('session:heartbeat', {})).toMatchObject({ ok: true });
});

it.each(THROWN)('%s while somebody connects refuses him and nobody else', async (_what, fail) => {
  const authenticate = jest.spyOn(node.application.nest.get(AuthService), 'authenticate');
  // A promise in any case: that is what the real one gives.
  authenticate.mockImplementationOnce(async () => (await fail()) as never);
  await expect(stage.connect(node, alice)).rejects.toMatchObject({ data: { code: 'INTERNAL' } });
  jest.restoreAllMocks();
  expect(a.socket.connected).toBe(true);
  const next = await stage.connect(node, alice);
  expect(await next.emit('session:heartbeat', {})).toMatchObject({ ok: true });
});

it('topics that cannot be read when somebody connects: he is let in later or sent away, and the node goes on', async () => {
  const membership = node.application.nest.get(MembershipService);
  jest.spyOn(membership, 'joinAll').mockRejectedValueOnce(query());
  const client = await stage.connect(node, alice);
  expect(client.ready).toMatchObject({ uid: alice.uid });
  jest.spyOn(membership, 'joinAll').mockRejectedValue(query());
  await expect(stage.connect(node, alice)).rejects.toThrow('closed before ready');
  expect(a.socket.connected).toBe(true);
}, 20_000);

it('left nothing unhandled behind', async () => {
  expect(await strayErrors(node)).toBe(0);
});
