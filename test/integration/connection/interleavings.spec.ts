import { AuthService } from '../../../src/modules/auth/auth.service.js';
import { GroupService } from '../../../src/modules/group/group.service.js';
import type { Application } from '../../../src/application.js';
import { TestClient } from '../../support/client.js';
import { Stage, type TestNode, type TestUser } from '../../support/stage.js';
import { until } from '../../support/until.js';

type Asynchronous<K extends string> = Record<K, (...args: never[]) => Promise<unknown>>;

let stage: Stage;
let node: TestNode & { readonly application: Application };
let [alice, bob]: TestUser[] = [];

beforeAll(async () => {
  stage = await Stage.open();
  await stage.tenant('acme', ['alice', 'bob']);
  node = await stage.inProcess();
  [alice, bob] = [await stage.login(node, 'acme', 'alice'), await stage.login(node, 'acme', 'bob')];
}, 60_000);
afterAll(() => stage.close());

interface Held {
  /** The real call has its result and is held. */
  readonly reached: Promise<void>;
  /** Lets it go. */
  go(): void;
}

/** Holds the result of the first call of a service's method that `wanted` picks; all others pass. */
function hold<K extends string>(service: Asynchronous<K>, method: K, wanted: (args: unknown[]) => boolean): Held {
  let [reach, go] = [(): void => undefined, (): void => undefined];
  const reached = new Promise<void>((resolve) => (reach = resolve));
  const open = new Promise<void>((resolve) => (go = resolve));
  const original = service[method].bind(service) as (...args: unknown[]) => Promise<unknown>;
  const held = jest.spyOn(service, method as never) as unknown as jest.SpyInstance;
  let first = true;
  held.mockImplementation(async (...args: unknown[]) => {
    const result = await original(...args);
    if (!first || !wanted(args)) return result;
    first = false;
    reach();
    await open;
    return result;
  });
  return {
    reached,
    go: () => {
      go();
      held.mockRestore();
    },
  };
}

const add = (topic: string): Promise<{ status: number }> =>
  stage.call(node, 'POST', `/v1/im/groups/${topic}/members`, { token: alice.accessToken, body: { uids: [bob.uid] } });

it('a member who is added to two groups at once hears both, whichever is read first', async () => {
  const topics = [await stage.group(node, alice, []), await stage.group(node, alice, [])];
  const [a, b] = [await stage.connect(node, alice), await stage.connect(node, bob)];
  const groups = node.application.nest.get(GroupService, { strict: false });
  // The membership of the first group is read, and not acted on yet, when he is added to the second one.
  const held = hold(
    groups as unknown as Asynchronous<'activeMembers'>,
    'activeMembers',
    (args) => args[1] === topics[0],
  );
  const first = add(topics[0]);
  await held.reached;
  expect((await add(topics[1])).status).toBeLessThan(300);
  held.go();
  expect((await first).status).toBeLessThan(300);
  for (const [index, topic] of topics.entries()) await a.send(topic, `both-${index}`, 'hello');
  for (const topic of topics) {
    await until('he hears it', () => b.events('messages').some((frame) => frame.topic === topic));
  }
});

it('a logout during the handshake closes the socket that it could not find yet', async () => {
  const user = await stage.login(node, 'acme', 'bob');
  const auth = node.application.nest.get(AuthService, { strict: false });
  const held = hold(
    auth as unknown as Asynchronous<'authenticate'>,
    'authenticate',
    (args) => args[0] === user.accessToken,
  );
  const connecting = TestClient.connect(node.url, { token: user.accessToken }).catch((error: unknown) => error);
  await held.reached;
  const logout = await stage.call(node, 'POST', '/v1/auth/logout', { token: user.accessToken, body: {} });
  expect(logout.status).toBeLessThan(300);
  held.go();
  // It was let in by what was true before; it is closed before it is ready.
  expect(String(await connecting)).toContain('closed before ready');
  // Whatever became of the connection: no socket of the session is left.
  expect(await stage.call(node, 'GET', '/v1/im/topics', { token: user.accessToken })).toMatchObject({ status: 401 });
});
