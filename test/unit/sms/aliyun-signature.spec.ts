import { signAliyunCall } from '../../../src/modules/sms/aliyun-signature.js';

const call = {
  endpoint: 'https://dysmsapi.aliyuncs.com',
  action: 'SendSms',
  version: '2017-05-25',
  query: { b: '1', a: "x y*~'()!", 中: '文' },
  accessKeyId: 'key',
  accessKeySecret: 'secret',
  now: new Date('2026-01-02T03:04:05.678Z'),
  nonce: 'once',
};

describe('signature V3 of Alibaba Cloud', () => {
  it('sorts and escapes the parameters as RFC 3986 wants it', () => {
    const { url } = signAliyunCall(call);
    expect(url).toBe('https://dysmsapi.aliyuncs.com/?a=x%20y%2A~%27%28%29%21&b=1&%E4%B8%AD=%E6%96%87');
  });

  it('names its headers, and the time without milliseconds', () => {
    const { headers } = signAliyunCall(call);
    expect(headers).toMatchObject({
      'x-acs-action': 'SendSms',
      'x-acs-version': '2017-05-25',
      'x-acs-date': '2026-01-02T03:04:05Z',
      'x-acs-signature-nonce': 'once',
      // SHA-256 of nothing.
      'x-acs-content-sha256': 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    });
    expect(headers.authorization).toMatch(
      /^ACS3-HMAC-SHA256 Credential=key,SignedHeaders=host;x-acs-action;x-acs-content-sha256;x-acs-date;x-acs-signature-nonce;x-acs-version,Signature=[0-9a-f]{64}$/,
    );
  });

  it.each([
    { nonce: 'twice' },
    { accessKeySecret: 'other' },
    { query: { a: '1' } },
    { action: 'Other' },
    { endpoint: 'https://other' },
  ])('changes with %j', (change) => {
    const [one, other] = [call, { ...call, ...change }].map((each) => signAliyunCall(each).headers.authorization);
    expect(other).not.toBe(one);
  });

  it('never carries the secret', () => {
    expect(JSON.stringify(signAliyunCall({ ...call, accessKeySecret: 'topsecret' }))).not.toContain('topsecret');
  });
});
