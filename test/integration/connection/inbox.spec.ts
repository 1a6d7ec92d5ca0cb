import { NodeIdentity } from '../../../src/platform/redis/node-identity.js';
import type { Application } from '../../../src/application.js';
import { givenServers } from '../../support/environment.js';
import { Stage, type TestNode } from '../../support/stage.js';
import { until } from '../../support/until.js';
import { Wire } from '../auth/wire.js';

let stage: Stage;
let wire: Wire;
let away: TestNode & { readonly application: Application };
let other: TestNode;

beforeAll(async () => {
  stage = await Stage.open();
  const url = new URL(givenServers().redis);
  wire = await Wire.to(url.hostname, Number(url.port || 6379));
  url.hostname = '127.0.0.1';
  url.port = String(wire.port);
  await stage.tenant('demo', ['alice', 'bob']);
  [away, other] = [await stage.inProcess({ REDIS_URL: url.href }), await stage.inProcess()];
}, 60_000);
afterAll(async () => {
  await stage.close();
  await wire.close();
});

it('a node that Redis did not reach for longer than its lease hears the requests of others under its new id', async () => {
  const identity = away.application.nest.get(NodeIdentity);
  const [alice, bob] = [await stage.login(other, 'demo', 'alice'), await stage.login(other, 'demo', 'bob')];
  const topic = await stage.group(other, alice, [bob]);
  const before = identity.id;
  // Silent, not closed: what it says about its new inbox goes into connections that end unheard.
  wire.freeze();
  await until('it takes a new id', () => identity.id !== before, 30_000);
  const during = identity.id;
  await new Promise((resolve) => setTimeout(resolve, 500));
  wire.release();
  await until('it is ready again', async () => (await stage.call(away, 'GET', '/health/ready')).status === 200, 20_000);
  expect(identity.id).toBe(during);
  const client = await stage.connect(away, bob);
  const { status } = await stage.call(other, 'DELETE', `/v1/im/groups/${topic}/members/${bob.uid}`, {
    token: alice.accessToken,
  });
  expect(status).toBe(204);
  client.close();
}, 90_000);
