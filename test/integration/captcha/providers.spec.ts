import { SmsServer } from '../../support/sms-server.js';
import { until } from '../../support/until.js';
import { PhoneWorld } from './phones.js';

let phones: PhoneWorld;
let own: SmsServer;
let rival: string;

beforeAll(async () => {
  own = await SmsServer.open();
  phones = await PhoneWorld.open(async (stage) => {
    await stage.tenant('demo', ['alice']);
    rival = await stage.tenant('rival', ['alice'], { smsPerAddressHourly: 10_000 });
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

it('changed settings count on every node without a restart, and so does taking them away', async () => {
  const { stage } = phones.world;
  const other = await stage.inProcess({ ...phones.sms.settings, CONFIG_REFRESH_SECONDS: '3600' });
  const settings = {
    provider: 'aliyun',
    endpoint: own.settings.SMS_ALIYUN_ENDPOINT,
    accessKeyId: own.settings.SMS_ALIYUN_ACCESS_KEY_ID,
    templateCode: 'SMS_2',
  };
  const secrets = { accessKeySecret: own.settings.SMS_ALIYUN_ACCESS_KEY_SECRET };
  const askThere = async (): Promise<{ status: number; phone: string }> => {
    const { loginToken, phone } = await phones.asker('rival');
    const body = { loginToken, scene: 'login', phone };
    return { status: (await stage.call(other, 'POST', '/v1/auth/captchas', { body })).status, phone };
  };
  for (const signName of ['First', 'Second']) {
    expect((await store({ ...settings, signName }, secrets)).status).toBeLessThan(300);
    await until(`the other node signs ${signName}`, async () => {
      expect((await askThere()).status).toBe(200);
      return own.calls[own.calls.length - 1].query.SignName === signName;
    });
  }
  const path = `/v1/admin/third-party/${rival}/sms`;
  expect((await phones.world.call('DELETE', path, { token: ADMIN, headers: { 'x-operator': 'tester' } })).status).toBe(
    204,
  );
  await until('the other node sends by the environment', async () => {
    const { status, phone } = await askThere();
    expect(status).toBe(200);
    return phones.sms.messages.some((message) => message.phone === phone);
  });
}, 60_000);

it('settings that are not whole send nothing, by nobody', async () => {
  expect((await store({ provider: 'aliyun', accessKeyId: 'x' }, { accessKeySecret: 'y' })).status).toBeLessThan(300);
  const before = phones.sms.messages.length + own.messages.length;
  const answer = await phones.send(await phones.asker('rival'), 'login');
  expect(answer).toMatchObject({ status: 503, body: { code: 'OVERLOADED' } });
  expect(phones.sms.messages.length + own.messages.length).toBe(before);
});
