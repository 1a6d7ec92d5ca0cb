import { SmsServer } from '../../support/sms-server.js';
import { PhoneWorld } from './phones.js';

let phones: PhoneWorld;
let own: SmsServer;
let rival: string;

beforeAll(async () => {
  own = await SmsServer.open();
  phones = await PhoneWorld.open(async (stage) => {
    await stage.tenant('demo', ['alice']);
    rival = await stage.tenant('rival', ['alice']);
  });
}, 60_000);
afterAll(async () => {
  await phones.close();
  await own.close();
});

const ADMIN = 'a'.repeat(40);

const store = (settings: object, secrets: object) =>
  phones.world.call('PUT', `/v1/admin/third-party/${rival}/sms`, {
    token: ADMIN,
    headers: { 'x-operator': 'tester' },
    body: { settings, secrets, enabled: true },
  });

it('a tenant sends by its own stored settings, others by those of the environment', async () => {
  const settings = {
    provider: 'aliyun',
    endpoint: own.settings.SMS_ALIYUN_ENDPOINT,
    accessKeyId: own.settings.SMS_ALIYUN_ACCESS_KEY_ID,
    signName: 'Rival',
    templateCode: 'SMS_1',
  };
  expect((await store(settings, { accessKeySecret: own.settings.SMS_ALIYUN_ACCESS_KEY_SECRET })).status).toBeLessThan(
    300,
  );
  const [ours, theirs] = [await phones.asker('demo'), await phones.asker('rival')];
  expect((await phones.send(ours, 'login')).status).toBe(200);
  expect((await phones.send(theirs, 'login')).status).toBe(200);
  expect(phones.sms.messages.map(({ phone }) => phone)).toEqual([ours.phone]);
  expect(own.messages.map(({ phone }) => phone)).toEqual([theirs.phone]);
  expect(own.calls[0].query.SignName).toBe('Rival');
});

it('settings that are not whole send nothing, by nobody', async () => {
  expect((await store({ provider: 'aliyun', accessKeyId: 'x' }, { accessKeySecret: 'y' })).status).toBeLessThan(300);
  const before = phones.sms.messages.length + own.messages.length;
  const answer = await phones.send(await phones.asker('rival'), 'login');
  expect(answer).toMatchObject({ status: 503, body: { code: 'OVERLOADED' } });
  expect(phones.sms.messages.length + own.messages.length).toBe(before);
});
