import { redacted, REDACTED } from '../../../src/modules/audit/audit.service.js';

describe('what is named like a secret', () => {
  it.each([
    'smtpPass',
    'mail_pass',
    'password',
    'passphrase',
    'dbPwd',
    'officialAccountAppSecret',
    'officialAccountToken',
    'officialAccountEncodingAESKey',
    'payWxPayAPIv3key',
    'uploadUCloudPrivateKey',
    'accessKeyId',
    'api_key',
  ])('%s is blacked out, also deep inside, and a whole list of it', (name) => {
    expect(redacted('s3cret', name)).toBe(REDACTED);
    expect(redacted({ a: [{ [name]: 's3cret' }] })).toEqual({ a: [{ [name]: REDACTED }] });
    expect(redacted({ [name]: ['s3cret', 7] })).toEqual({ [name]: REDACTED });
  });

  it.each(['smtpHost', 'passport', 'keyId', 'keyboard', 'maxSize', 'registration'])('%s is shown', (name) => {
    expect(redacted({ [name]: 'plain' })).toEqual({ [name]: 'plain' });
  });
});
