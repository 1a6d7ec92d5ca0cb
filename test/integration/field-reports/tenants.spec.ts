import { RedisClients } from '../../../src/platform/redis/redis-clients.js';
import { Stage, type TestUser } from '../../support/stage.js';
import { until } from '../../support/until.js';

type Node = Awaited<ReturnType<Stage['inProcess']>>;

describe('two deployments on one Redis, two tenants with the same ids in each', () => {
  const stages: Stage[] = [];
  const nodes: Node[] = [];
  /** By deployment and tenant: everybody has the uid of his namesakes, and the groups their numbers. */
  const alices: TestUser[][] = [[], []];
  const topics: string[][] = [[], []];

  beforeAll(async () => {
    for (const deployment of [0, 1]) {
      const stage = await Stage.open();
      stages.push(stage);
      for (const code of ['one', 'two']) await stage.tenant(code, ['alice', 'bob']);
      nodes.push(await stage.inProcess());
      for (const code of ['one', 'two']) {
        const alice = await stage.login(nodes[deployment], code, 'alice');
        alices[deployment].push(alice);
        topics[deployment].push(await stage.group(nodes[deployment], alice, [], `group of ${deployment} ${code}`));
      }
    }
  }, 90_000);
  afterAll(() => Promise.all(stages.map((stage) => stage.close())));

  const all = (): [number, number][] =>
    [0, 1].flatMap((deployment) => [0, 1].map((tenant): [number, number] => [deployment, tenant]));

  it('B23: share ids and topics, and hear nothing of each other', async () => {
    expect(new Set(alices.flat().map((user) => user.uid)).size).toBe(1);
    expect(new Set(topics.flat()).size).toBe(1);
    const clients = await Promise.all(
      all().map(async ([deployment, tenant]) => ({
        deployment,
        tenant,
        client: await stages[deployment].connect(nodes[deployment], alices[deployment][tenant]),
      })),
    );
    const topic = topics[0][0];
    for (const { deployment, tenant, client } of clients) {
      // One id everywhere: a claim, a key or a room without its tenant would answer "duplicate".
      const ack = await client.send(topic, 'same-id', `text of ${deployment} ${tenant}`);
      expect(ack).toMatchObject({ ok: true, seq: 1, duplicate: false });
    }
    for (const { deployment, tenant, client } of clients) {
      await until('the own message is heard', () => client.heard(topic).length > 0);
      await client.emit('session:heartbeat', {});
      const own = `text of ${deployment} ${tenant}`;
      expect(client.heard(topic).map((message) => message.content)).toEqual([{ text: own }]);
      expect((await client.historyFrom(topic)).map((message) => message.content)).toEqual([{ text: own }]);
    }
  });

  it('B24: no header, query or body of a call moves it to another tenant', async () => {
    const [mine, other] = alices[0];
    const [, otherTenant] = await Promise.all(
      ['one', 'two'].map(async (code) => {
        const [row] = await stages[0].sql<{ id: string }>('control', 'SELECT id FROM im_tenants WHERE code = ?', [
          code,
        ]);
        return String(row.id);
      }),
    );
    const headers = {
      'x-tenant-id': otherTenant,
      'x-tenant': 'two',
      tenant: otherTenant,
      'x-forwarded-host': 'two.example',
      'x-operator': 'olga',
    };
    for (const query of ['', `?tenant=${otherTenant}`, `?tenantId=${otherTenant}`]) {
      const path = `/v1/im/groups/${topics[0][0]}${query}`;
      const answer = await stages[0].call(nodes[0], 'GET', path, { token: mine.accessToken, headers });
      if (answer.status === 200) expect(answer.body.name).toBe('group of 0 one');
      else expect(answer.body.code).toBe('VALIDATION_FAILED');
    }
    for (const field of ['tenant', 'tenantId', 'tenant_id', 't']) {
      const refused = await stages[0].call(nodes[0], 'PATCH', '/v1/im/users/me', {
        token: mine.accessToken,
        body: { nickname: 'moved', [field]: otherTenant },
        headers,
      });
      expect(refused.body.code).toBe('VALIDATION_FAILED');
    }
    await stages[0].call(nodes[0], 'PATCH', '/v1/im/users/me', {
      token: mine.accessToken,
      body: { nickname: 'Mine' },
      headers,
    });
    const me = await stages[0].call(nodes[0], 'GET', '/v1/im/users/me', { token: other.accessToken });
    expect(me.body.nickname).toBe('alice');
    // A token of the other deployment, which has another key of its own.
    const foreign = await stages[0].call(nodes[0], 'GET', '/v1/im/users/me', {
      token: forged(mine.accessToken, { t: otherTenant }),
    });
    expect(foreign).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
  });

  it('B22: every key begins with its deployment and its tenant', async () => {
    const redis = nodes[0].application.nest.get(RedisClients, { strict: false }).command;
    for (const { name } of stages) {
      const keys = (await redis.call('KEYS', `*${name}*`)) as string[];
      expect(keys.length).toBeGreaterThan(5);
      expect(keys.filter((key) => !new RegExp(`^${name}:\\d+:`).test(key))).toEqual([]);
    }
  });

  it('B25: rows of two tenants that write at once are where they belong', async () => {
    const stage = stages[0];
    const clients = await Promise.all(alices[0].map((user) => stage.connect(nodes[0], user)));
    const names = ['one', 'two'];
    await Promise.all(
      Array.from({ length: 120 }, async (_, index) => {
        const at = index % 2;
        await clients[at].send(topics[0][at], `b25-${index}`, `row of ${names[at]}`);
        await stage.call(nodes[0], 'PATCH', '/v1/im/users/me', {
          token: alices[0][at].accessToken,
          body: { signature: `row of ${names[at]}` },
        });
      }),
    );
    for (const at of [0, 1]) {
      const rows = await stage.sql<{ content: string }>(
        names[at],
        "SELECT content FROM im_group_messages WHERE client_msg_id LIKE 'b25-%'",
      );
      expect(rows.length).toBe(60);
      expect(rows.filter(({ content }) => !content.includes(`row of ${names[at]}`))).toEqual([]);
      const [user] = await stage.sql<{ signature: string }>(
        names[at],
        "SELECT signature FROM im_users WHERE account = 'alice'",
      );
      expect(user.signature).toBe(`row of ${names[at]}`);
    }
  }, 60_000);
});

/** The same token with another claim and the old signature. */
function forged(token: string, claims: object): string {
  const [header, payload, signature] = token.split('.');
  const changed = { ...(JSON.parse(Buffer.from(payload, 'base64url').toString()) as object), ...claims };
  return [header, Buffer.from(JSON.stringify(changed)).toString('base64url'), signature].join('.');
}
