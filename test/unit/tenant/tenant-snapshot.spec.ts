import { buildSnapshot, EMPTY_SNAPSHOT } from '../../../src/modules/tenant/tenant-snapshot.js';
import type { TenantEntity } from '../../../src/modules/tenant/tenant.entity.js';
import { asTenantId } from '../../../src/platform/ids/ids.js';

const control = { host: 'db', port: 3307, user: 'im', password: 'secret', database: 'im_control' };
const row = (more: Partial<TenantEntity> = {}): TenantEntity => ({
  id: '1',
  code: 'acme',
  name: 'Acme',
  status: 'active',
  dbHost: null,
  dbPort: null,
  dbUser: null,
  dbName: 'im_acme',
  dbSecretRef: null,
  settings: '{"registration":"open"}',
  createdAt: new Date(0),
  updatedAt: new Date(0),
  ...more,
});

it('takes what a record leaves open from the control server', () => {
  const { snapshot } = buildSnapshot([row()], EMPTY_SNAPSHOT, control);
  expect(snapshot.byCode.get('acme')?.connection).toEqual({ ...control, database: 'im_acme' });
});

it('takes the password from the variable that the record names, and says so when it is missing', () => {
  process.env.TEST_ACME_PASSWORD = 'other';
  const own = { dbHost: 'db2', dbPort: 3308, dbUser: 'acme' };
  const given = buildSnapshot([row({ ...own, dbSecretRef: 'env:TEST_ACME_PASSWORD' })], EMPTY_SNAPSHOT, control);
  expect(given.snapshot.byCode.get('acme')?.connection).toMatchObject({ host: 'db2', password: 'other' });
  const missing = buildSnapshot([row({ ...own, dbSecretRef: 'env:TEST_NOT_THERE' })], EMPTY_SNAPSHOT, control);
  expect(missing.snapshot.byCode.get('acme')?.connection).toBeNull();
  expect(missing.problems).toEqual([{ tenant: '1', problem: expect.stringContaining('secret') }]);
  delete process.env.TEST_ACME_PASSWORD;
});

it.each(['', '{', '[]', 'null', '{"registration":"maybe"}'])(
  'keeps the old settings when the new ones are %j, but takes the rest of the record',
  (settings) => {
    const first = buildSnapshot([row()], EMPTY_SNAPSHOT, control).snapshot;
    const { snapshot, problems } = buildSnapshot([row({ settings, status: 'disabled' })], first, control);
    const tenant = snapshot.byId.get(asTenantId('1'));
    expect(tenant).toMatchObject({ status: 'disabled', settings: { registration: 'open' } });
    expect(problems).toHaveLength(1);
  },
);

it('has safe settings for a record that never parsed', () => {
  const { snapshot } = buildSnapshot([row({ settings: '{' })], EMPTY_SNAPSHOT, control);
  expect(snapshot.byCode.get('acme')?.settings).toMatchObject({ registration: 'closed', recallWindowSeconds: 120 });
});

it('takes any status but active for disabled', () => {
  const { snapshot } = buildSnapshot([row({ status: 'Active ' })], EMPTY_SNAPSHOT, control);
  expect(snapshot.byCode.get('acme')?.status).toBe('disabled');
});
