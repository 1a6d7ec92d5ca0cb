import { Stage, type TestNode } from '../../support/stage.js';
import { metricsOf } from '../house/metrics.js';

let stage: Stage;
let node: TestNode;
let [listed, other] = ['', ''];

beforeAll(async () => {
  stage = await Stage.open();
  listed = await stage.tenant('listed', ['alice']);
  other = await stage.tenant('other', ['alice']);
  node = await stage.inProcess({ METRICS_TENANTS: `${listed},` });
}, 60_000);
afterAll(() => stage.close());

it('tenants that are listed have metrics of their own, and no others', async () => {
  for (const code of ['listed', 'other']) {
    const alice = await stage.login(node, code, 'alice');
    const topic = await stage.group(node, alice, []);
    const client = await stage.connect(node, alice);
    await client.send(topic, 'm1', 'x');
    await client.send(topic, 'm1', 'x');
    await client.send(`self_${alice.uid}`, 'm2', 'x');
    await client.emit('message:send', { topic: 'grp_999', clientMsgId: 'm3', type: 'text', content: { text: 'x' } });
  }
  const metrics = await metricsOf(node);
  const of = (name: string, labels: string): string | undefined =>
    new RegExp(`^${name}\\{${labels}\\} (\\d+)$`, 'm').exec(metrics)?.[1];
  expect(of('im_tenant_sends_total', `tenant="${listed}",result="stored"`)).toBe('2');
  expect(of('im_tenant_sends_total', `tenant="${listed}",result="duplicate"`)).toBe('1');
  expect(of('im_tenant_sends_total', `tenant="${listed}",result="NOT_MEMBER"`)).toBe('1');
  expect(of('im_tenant_logins_total', `tenant="${listed}",result="right"`)).toBe('1');
  expect(of('im_tenant_connections', `tenant="${listed}"`)).toBe('1');
  expect(metrics).not.toContain(`tenant="${other}"`);
  expect(metrics).toMatch(/^im_sends_total\{result="stored"\} 2$/m);
});
