import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { TenantService } from '../../../src/modules/tenant/tenant.service.js';
import { asTenantId } from '../../../src/platform/ids/ids.js';
import { Stage } from '../../support/stage.js';
import { until } from '../../support/until.js';

type Node = Awaited<ReturnType<Stage['inProcess']>>;

let stage: Stage;
let nodes: Node[];
let id: string;

beforeAll(async () => {
  // No regular reload comes in time: what is seen was told.
  stage = await Stage.open({ CONFIG_REFRESH_SECONDS: '3600' });
  id = await stage.tenant('demo', ['alice'], { editWindowSeconds: 7, ofAnother: { kept: true } });
  nodes = [await stage.inProcess(), await stage.inProcess()];
}, 60_000);
afterAll(() => stage.close());

const set = (...args: string[]): Promise<{ code: number; out: string; err: string }> =>
  new Promise((resolve) => {
    const program = join(__dirname, '../../../dist/cli/tenant.js');
    const env = { ...stage.environment, TENANT_OPERATOR: 'olga' };
    execFile(process.execPath, [program, 'set', ...args], { env }, (error, out, err) =>
      resolve({ code: Number(error?.code ?? 0), out, err }),
    );
  });
const settingsOn = (node: Node): Record<string, unknown> =>
  node.application.nest.get(TenantService, { strict: false }).get(asTenantId(id)).settings;
const stored = async (): Promise<unknown> => {
  const [row] = await stage.sql<{ settings: string }>('control', 'SELECT settings FROM im_tenants WHERE id = ?', [id]);
  return JSON.parse(row.settings) as unknown;
};
const audited = () =>
  stage.sql<{ operator: string; source: string; detail: string }>(
    'control',
    "SELECT operator, source, detail FROM im_admin_audit_logs WHERE action = 'tenant.change' ORDER BY id",
  );

describe('npm run tenant -- set', () => {
  it('changes settings by name, as JSON or text, and takes them away; every node follows, and it is audited', async () => {
    const settings = ['registration=open', 'recallWindowSeconds=300', 'limits={"send":{"perSecond":5,"burst":9}}'];
    expect(await set('demo', ...settings, 'editWindowSeconds=')).toMatchObject({
      code: 0,
      out: 'Tenant demo was changed.\n',
    });
    const expected = { registration: 'open', recallWindowSeconds: 300, limits: { send: { perSecond: 5, burst: 9 } } };
    expect(await stored()).toMatchObject({ ...expected, ofAnother: { kept: true } });
    expect(await stored()).not.toHaveProperty('editWindowSeconds');
    for (const node of nodes) {
      await until('the node knows', () => settingsOn(node).recallWindowSeconds === 300);
      expect(settingsOn(node)).toMatchObject({ ...expected, editWindowSeconds: 86_400, ofAnother: { kept: true } });
    }
    const [row] = await audited();
    expect(row).toMatchObject({ operator: 'olga', source: 'cli' });
    expect(JSON.parse(row.detail)).toMatchObject({ code: 'demo', settings: { ...expected, editWindowSeconds: null } });
    expect((await set('demo', 'recallWindowSeconds=300')).out).toBe('Tenant demo was like that already.\n');
    expect(await audited()).toHaveLength(1);
  }, 120_000);

  it.each([
    ['a value that is none', ['demo', 'recallWindowSeconds=-1'], /settings\.recallWindowSeconds/],
    ['text for a number', ['demo', 'sessionsPerUser=many'], /settings\.sessionsPerUser/],
    ['no pair', ['demo', 'registration'], /^registration is not SETTING=VALUE/],
    ['a name that is none', ['demo', '__proto__.x=1'], /is not SETTING=VALUE/],
    ['nothing', ['demo'], /^Name a tenant and its settings/],
    ['a tenant that is none', ['nowhere', 'registration=open'], /^There is no tenant with the code nowhere/],
  ])(
    'refuses %s in words, and changes nothing',
    async (_what, args, text) => {
      const [before, audits] = [await stored(), (await audited()).length];
      const { code, err } = await set(...args);
      expect(code).toBe(1);
      expect(err).toMatch(text);
      expect(err).not.toMatch(/^\s+at /m);
      expect(await stored()).toEqual(before);
      expect(await audited()).toHaveLength(audits);
    },
    120_000,
  );
});
