import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { givenServers } from '../support/environment.js';
import { PrivateServer } from '../support/fault-stage.js';
import { Stage } from '../support/stage.js';
import { until } from '../support/until.js';

/** A lease of a node, seconds: so long may it take until every living node is in the list of a Redis that forgot it. */
const LEASE_SECONDS = 15;

it('a kick is not acknowledged while a Redis that has just started may not know all nodes', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'fresh-redis-'));
  const redis = await PrivateServer.redis(folder);
  const stage = await Stage.open({}, { ...givenServers(), redis: redis.url });
  const client = new Redis(redis.url);
  client.on('error', () => undefined);
  try {
    await stage.tenant('acme', ['alice', 'bob']);
    const [one, two] = [await stage.inProcess(), await stage.process()];
    const [alice, bob] = [await stage.login(one, 'acme', 'alice'), await stage.login(one, 'acme', 'bob')];
    const topic = await stage.group(one, alice, [bob]);
    const [a, b] = [await stage.connect(one, alice), await stage.connect(two, bob)];
    // It forgets everything, as after a restart without its data; the nodes register again one by one.
    await redis.kill();
    await redis.start();
    const kick = await until(
      'the kick is acknowledged',
      async () => {
        const answer = await stage.call(one, 'DELETE', `/v1/im/groups/${topic}/members/${bob.uid}`, {
          token: alice.accessToken,
        });
        if (answer.status >= 500) expect(answer.body).toMatchObject({ retryable: true });
        return answer.status < 500 && answer;
      },
      60_000,
    );
    expect(kick.status).toBeLessThan(300);
    const uptime = Number(/uptime_in_seconds:(\d+)/.exec(await client.info('server'))![1]);
    expect(uptime).toBeGreaterThanOrEqual(LEASE_SECONDS);
    const told = b.events('messages').length;
    await until('a message is sent', async () => (await a.send(topic, 'after', 'after the kick')).ok);
    await until('alice hears it', () => a.events('messages').length > 0);
    expect(b.events('messages')).toHaveLength(told);
  } finally {
    client.disconnect();
    await stage.close();
    await redis.server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}, 120_000);
