import { TenantDataSources } from '../../src/platform/mysql/tenant-data-sources.js';
import { asTenantId } from '../../src/platform/ids/ids.js';
import { Stage, type RestAnswer } from '../support/stage.js';
import { until } from '../support/until.js';

let stage: Stage;

beforeAll(async () => {
  stage = await Stage.open();
}, 60_000);
afterAll(() => stage.close());

it('a node that hangs in the middle of a change holds up the group for half a minute at most', async () => {
  const tenant = await stage.tenant('demo', ['alice', 'bob']);
  // Its own time-outs do not help: a frozen process has none.
  const [hanging, healthy] = [await stage.inProcess({ MYSQL_STATEMENT_TIMEOUT_MS: '60000' }), await stage.inProcess()];
  const alice = await stage.login(healthy, 'demo', 'alice');
  const topic = await stage.group(healthy, alice, []);
  const id = topic.slice('grp_'.length);
  const rename = (name: string): Promise<RestAnswer> =>
    stage.call(healthy, 'PATCH', `/v1/im/groups/${topic}`, { token: alice.accessToken, body: { name } });
  let goOn = (): void => undefined;
  let holds = false;
  const hung = hanging.application.nest
    .get(TenantDataSources)
    .run(asTenantId(tenant), (db) =>
      db.transaction(async (tx) => {
        await tx.query('SELECT 1 FROM im_groups WHERE id = ? FOR UPDATE', [id]);
        holds = true;
        await new Promise<void>((resolve) => (goOn = resolve));
        await tx.query('UPDATE im_groups SET name = ? WHERE id = ?', ['too late', id]);
      }),
    )
    .catch((error: unknown) => error);
  await until('it holds the group', () => holds);
  const refused = await rename('first');
  expect([refused.status, refused.body.code]).toEqual([503, 'STORAGE_UNAVAILABLE']);
  await until('the group can be changed', async () => (await rename('second')).status === 200, 45_000);
  goOn();
  expect(await hung).toBeInstanceOf(Error);
  const { body } = await stage.call<{ name: string }>(healthy, 'GET', `/v1/im/groups/${topic}`, {
    token: alice.accessToken,
  });
  expect(body.name).toBe('second');
}, 90_000);
