import { createServer, type AddressInfo } from 'node:net';
import { AliyunSms } from '../../../src/modules/sms/aliyun-sms.js';
import { SmsRefused } from '../../../src/modules/sms/sms.types.js';
import { SmsServer } from '../../support/sms-server.js';

let server: SmsServer;

beforeAll(async () => {
  server = await SmsServer.open();
});
afterAll(() => server.close());

function sender(more: Partial<ConstructorParameters<typeof AliyunSms>[0]> = {}): AliyunSms {
  const { settings } = server;
  return new AliyunSms({
    endpoint: settings.SMS_ALIYUN_ENDPOINT,
    accessKeyId: settings.SMS_ALIYUN_ACCESS_KEY_ID,
    accessKeySecret: settings.SMS_ALIYUN_ACCESS_KEY_SECRET,
    signName: settings.SMS_ALIYUN_SIGN_NAME,
    templateCode: settings.SMS_ALIYUN_TEMPLATE_CODE,
    timeoutMs: 1_000,
    ...more,
  });
}

const message = { phone: '+8613800000000', code: '012345' };
const refusal = async (sms: AliyunSms): Promise<string> => {
  try {
    return await sms.send(message);
  } catch (error) {
    if (!(error instanceof SmsRefused)) throw error;
    expect(error.message).not.toMatch(/13800000000|012345/);
    return error.reason;
  }
};

describe('Alibaba Cloud SMS', () => {
  it('takes the signed request and gets number, signature, template and code', async () => {
    expect(await sender().send(message)).toBe('sent');
    expect(await sender().send({ phone: '+85261234567', code: '999999' })).toBe('sent');
    expect(server.complaints).toEqual([]);
    expect(server.calls.map(({ method, query }) => ({ method, ...query }))).toEqual([
      {
        method: 'POST',
        PhoneNumbers: '13800000000',
        SignName: '三叉戟(测试)*',
        TemplateCode: 'SMS_123456789',
        TemplateParam: '{"code":"012345"}',
      },
      expect.objectContaining({ PhoneNumbers: '85261234567', TemplateParam: '{"code":"999999"}' }),
    ]);
  });

  it('refuses a wrong secret, a wrong key id and a changed parameter: the stand-in does look', async () => {
    expect(await refusal(sender({ accessKeySecret: 'another secret' }))).toBe('setup');
    expect(await refusal(sender({ accessKeyId: 'nobody' }))).toBe('setup');
    expect(server.complaints).toEqual(['SignatureDoesNotMatch', 'InvalidAccessKeyId.NotFound']);
  });

  it.each([
    [200, { Code: 'isv.MOBILE_NUMBER_ILLEGAL' }, 'number'],
    [200, { Code: 'isv.BUSINESS_LIMIT_CONTROL' }, 'limited'],
    [200, { Code: 'isv.SMS_TEMPLATE_ILLEGAL' }, 'setup'],
    [200, { Code: 'isv.AMOUNT_NOT_ENOUGH' }, 'setup'],
    [403, { Code: 'NoPermission' }, 'setup'],
    [503, { Code: 'ServiceUnavailable' }, 'unavailable'],
    [500, {}, 'unknown'],
    [404, {}, 'setup'],
    [200, { Code: 'OK\n forged: 13800000000' }, 'setup'],
  ])('answers %i %j: %s', async (status, body, outcome) => {
    server.next(status, body);
    expect(await refusal(sender())).toBe(outcome);
  });

  it('that does not answer leaves the outcome open, within the time-out and without a second request', async () => {
    const before = server.calls.length;
    server.nextIsSilent();
    const began = performance.now();
    expect(await sender().send(message)).toBe('unknown');
    expect(performance.now() - began).toBeLessThan(5_000);
    expect(server.calls).toHaveLength(before + 1);
  });

  it('that cannot be reached has sent nothing', async () => {
    const unused = createServer();
    await new Promise<void>((resolve) => unused.listen(0, '127.0.0.1', resolve));
    const { port } = unused.address() as AddressInfo;
    await new Promise((resolve) => unused.close(resolve));
    expect(await refusal(sender({ endpoint: `http://127.0.0.1:${port}` }))).toBe('unavailable');
  });

  it('is not followed elsewhere: a redirection would take number and code along', async () => {
    let asked = 0;
    const other = createServer((socket) => {
      asked += 1;
      socket.destroy();
    });
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    server.redirectNext(`http://127.0.0.1:${(other.address() as AddressInfo).port}/`);
    expect(await sender().send(message)).toBe('unknown');
    expect(asked).toBe(0);
    await new Promise((resolve) => other.close(resolve));
  });
});
