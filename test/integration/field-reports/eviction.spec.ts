import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { PrivateServer } from '../../support/fault-stage.js';
import { givenServers } from '../../support/environment.js';
import { Stage, type TestNode } from '../../support/stage.js';
import { until } from '../../support/until.js';

/** B03: a Redis that may drop any key when it is full drops counters first of all those that nobody misses at once. */
let folder: string;
let server: PrivateServer;
let admin: Redis;
let stage: Stage;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'ev-'));
  server = await PrivateServer.redis(folder);
  admin = new Redis(server.url);
  stage = await Stage.open({}, { mysql: givenServers().mysql, redis: server.url });
  await stage.tenant('demo', ['alice']);
}, 60_000);
afterAll(async () => {
  await stage.close();
  admin.disconnect();
  await server.kill();
  rmSync(folder, { recursive: true, force: true });
});

const readiness = async (node: TestNode): Promise<number> => (await fetch(`${node.url}/health/ready`)).status;

it.each(['allkeys-lru', 'allkeys-lfu', 'allkeys-random'])('a node is not ready on %s', async (policy) => {
  await admin.config('SET', 'maxmemory-policy', policy);
  const node = await stage.inProcess();
  expect(await readiness(node)).toBe(503);
  expect(await (await fetch(`${node.url}/health/ready`)).text()).toContain('evictionPolicy');
});

it.each(['noeviction', 'volatile-lru'])('a node is ready on %s', async (policy) => {
  await admin.config('SET', 'maxmemory-policy', policy);
  const node = await stage.inProcess();
  await until('the node is ready', async () => (await readiness(node)) === 200);
});

it('counters have no time to live, so that the policies for keys that have one never take them', async () => {
  await admin.config('SET', 'maxmemory-policy', 'noeviction');
  const node = await stage.inProcess();
  const alice = await stage.login(node, 'demo', 'alice');
  const topic = await stage.group(node, alice, []);
  await (await stage.connect(node, alice)).send(topic, 'm', 'x');
  const counters = await admin.keys(`${stage.name}*last_seq*`);
  expect(counters.length).toBeGreaterThan(0);
  for (const key of counters) expect(await admin.ttl(key)).toBe(-1);
});
