import { randomUUID } from 'node:crypto';
import { signAliyunCall } from './aliyun-signature.js';
import { SmsRefused, type SmsCode, type SmsOutcome, type SmsProvider, type SmsRefusal } from './sms.types.js';

export interface AliyunSmsSettings {
  /** `https://dysmsapi.aliyuncs.com`, or another region's. */
  readonly endpoint: string;
  readonly accessKeyId: string;
  readonly accessKeySecret: string;
  /** The approved signature that stands before the text. */
  readonly signName: string;
  /** The approved template with the variable `code`. */
  readonly templateCode: string;
  /** For the whole call. */
  readonly timeoutMs: number;
}

/** Error codes of SendSms that say something about this number or moment; all others are for the operator. */
const REFUSALS: Readonly<Record<string, SmsRefusal>> = {
  'isv.MOBILE_NUMBER_ILLEGAL': 'number',
  'isv.MOBILE_COUNT_OVER_LIMIT': 'number',
  'isv.BLACK_KEY_CONTROL_LIMIT': 'limited',
  'isv.BUSINESS_LIMIT_CONTROL': 'limited',
  'isv.DAY_LIMIT_CONTROL': 'unavailable',
  'isp.SYSTEM_ERROR': 'unavailable',
  'isp.RAM_PERMISSION_DENY': 'setup',
  Throttling: 'unavailable',
  'Throttling.User': 'unavailable',
  ServiceUnavailable: 'unavailable',
};

/** Errors before a request can have reached the service. */
const NEVER_CONNECTED =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|CERT_|ERR_TLS)/;

/** Alibaba Cloud Short Message Service, SendSms of 2017-05-25. */
export class AliyunSms implements SmsProvider {
  readonly name = 'aliyun';

  constructor(private readonly settings: AliyunSmsSettings) {}

  async send({ phone, code }: SmsCode): Promise<SmsOutcome> {
    const { endpoint, accessKeyId, accessKeySecret, signName, templateCode } = this.settings;
    const { url, headers } = signAliyunCall({
      endpoint,
      accessKeyId,
      accessKeySecret,
      action: 'SendSms',
      version: '2017-05-25',
      query: {
        PhoneNumbers: numberFor(phone),
        SignName: signName,
        TemplateCode: templateCode,
        TemplateParam: JSON.stringify({ code }),
      },
      now: new Date(),
      nonce: randomUUID(),
    });
    const answer = await this.post(url, headers);
    if (answer === 'unknown') return 'unknown';
    if (answer.code === 'OK') return 'sent';
    // A server error without a word of its own: it may have been carried out.
    if (answer.code === null) {
      if (answer.status >= 500) return 'unknown';
      throw new SmsRefused('setup', `the SMS service answered HTTP ${answer.status} in no known form`);
    }
    throw new SmsRefused(REFUSALS[answer.code] ?? 'setup', `the SMS service answered ${answer.code}`);
  }

  private async post(
    url: string,
    headers: Readonly<Record<string, string>>,
  ): Promise<{ status: number; code: string | null } | 'unknown'> {
    try {
      const signal = AbortSignal.timeout(this.settings.timeoutMs);
      const response = await fetch(url, { method: 'POST', headers, redirect: 'error', signal });
      return { status: response.status, code: codeOf(await response.text()) };
    } catch (error) {
      const cause = ((error as Error).cause ?? error) as { code?: unknown };
      if (typeof cause.code === 'string' && NEVER_CONNECTED.test(cause.code)) {
        throw new SmsRefused('unavailable', `the SMS service cannot be reached: ${cause.code}`);
      }
      return 'unknown';
    }
  }
}

function codeOf(text: string): string | null {
  try {
    const { Code: code } = JSON.parse(text) as { Code?: unknown };
    // It goes to the log: only what looks like one.
    return typeof code === 'string' && /^[\w.-]{1,80}$/.test(code) ? code : null;
  } catch {
    return null;
  }
}

/** Mainland numbers without the country code, others with it and without the plus. */
const numberFor = (phone: string): string => (phone.startsWith('+86') ? phone.slice(3) : phone.slice(1));
