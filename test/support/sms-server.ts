import { createHash, createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SmsCall {
  readonly method: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: IncomingMessage['headers'];
}

/** Answers one call: an error of the service, silence, or what the service says when it has sent the message. */
type Reply = (response: ServerResponse) => void;

const json =
  (status: number, body: object): Reply =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };

/**
 * Stands in for Alibaba Cloud's SMS service: its HTTP interface, with a check of the signature that was written from the
 * published description and shares no code with the product.
 */
export class SmsServer {
  readonly calls: SmsCall[] = [];
  /** What was wrong with calls that were refused. */
  readonly complaints: string[] = [];
  readonly settings: Record<string, string>;
  private readonly nonces = new Set<string>();
  private readonly scripted: Reply[] = [];

  private constructor(
    private readonly server: Server,
    readonly accessKeyId = 'LTAI-test-key',
    readonly accessKeySecret = 'test-secret-of-the-key',
  ) {
    this.settings = {
      SMS_PROVIDER: 'aliyun',
      SMS_ALIYUN_ENDPOINT: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      SMS_ALIYUN_ACCESS_KEY_ID: accessKeyId,
      SMS_ALIYUN_ACCESS_KEY_SECRET: accessKeySecret,
      SMS_ALIYUN_SIGN_NAME: '三叉戟(测试)*',
      SMS_ALIYUN_TEMPLATE_CODE: 'SMS_123456789',
    };
  }

  static async open(): Promise<SmsServer> {
    let stand: SmsServer | undefined;
    const server = createServer((request, response) => stand?.answer(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    stand = new SmsServer(server);
    return stand;
  }

  /** The next call is answered so, and sends nothing. */
  next(status: number, body: object): void {
    this.scripted.push(json(status, body));
  }

  /** The next call is heard and not answered. */
  nextIsSilent(): void {
    this.scripted.push(() => undefined);
  }

  /** The next call is sent elsewhere. */
  redirectNext(location: string): void {
    this.scripted.push((response) => void response.writeHead(307, { location }).end());
  }

  /** Numbers as the service was given them, of the messages that went out; the newest last. */
  get messages(): { phone: string; code: string }[] {
    return this.calls.map(({ query }) => ({
      phone: query.PhoneNumbers,
      code: (JSON.parse(query.TemplateParam) as { code: string }).code,
    }));
  }

  /** The newest code for a mainland number in its national form, or another one without its plus. */
  codeFor(phone: string): string {
    const message = this.messages.filter((each) => each.phone === phone).pop();
    if (!message) throw new Error(`no message for ${phone}; refused: ${this.complaints.join('; ')}`);
    return message.code;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    const complaint = this.complaintAbout(request);
    if (complaint) {
      this.complaints.push(complaint);
      json(400, { Code: complaint, Message: 'refused', RequestId: '0' })(response);
      return;
    }
    const { searchParams } = new URL(request.url ?? '', 'http://sms');
    this.calls.push({
      method: request.method ?? '',
      query: Object.fromEntries(searchParams),
      headers: request.headers,
    });
    const reply = this.scripted.shift() ?? json(200, { Code: 'OK', Message: 'OK', BizId: '1^0', RequestId: '1' });
    reply(response);
  }

  /** The service's own checks, in its own words. */
  private complaintAbout(request: IncomingMessage): string | null {
    const headers = request.headers as Record<string, string>;
    const parsed = /^ACS3-HMAC-SHA256 Credential=([^,]+),SignedHeaders=([^,]+),Signature=([0-9a-f]{64})$/.exec(
      headers.authorization ?? '',
    );
    if (!parsed) return 'IncompleteSignature';
    const [, credential, signedHeaders, signature] = parsed;
    if (credential !== this.accessKeyId) return 'InvalidAccessKeyId.NotFound';
    const required = [
      'host',
      'x-acs-action',
      'x-acs-content-sha256',
      'x-acs-date',
      'x-acs-signature-nonce',
      'x-acs-version',
    ];
    if (!required.every((name) => signedHeaders.split(';').includes(name))) return 'IncompleteSignature';
    if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(headers['x-acs-date'])) return 'InvalidTimeStamp.Format';
    if (Math.abs(Date.parse(headers['x-acs-date']) - Date.now()) > 15 * 60_000) return 'InvalidTimeStamp.Expired';
    if (this.nonces.has(headers['x-acs-signature-nonce'])) return 'SignatureNonceUsed';
    this.nonces.add(headers['x-acs-signature-nonce']);
    if (headers['x-acs-action'] !== 'SendSms' || headers['x-acs-version'] !== '2017-05-25')
      return 'InvalidAction.NotFound';
    const [path, query = ''] = (request.url ?? '').split('?');
    const lines = signedHeaders.split(';').map((name) => `${name}:${headers[name].trim()}\n`);
    const canonical = `${request.method}\n${path}\n${sorted(query)}\n${lines.join('')}\n${signedHeaders}\n${headers['x-acs-content-sha256']}`;
    const hex = createHash('sha256').update(canonical, 'utf8').digest('hex');
    const expected = createHmac('sha256', this.accessKeySecret)
      .update(`ACS3-HMAC-SHA256\n${hex}`, 'utf8')
      .digest('hex');
    return expected === signature ? null : 'SignatureDoesNotMatch';
  }
}

/** Parameters decoded, encoded again as RFC 3986 wants it, and sorted by name. */
function sorted(query: string): string {
  const unreserved = /[A-Za-z0-9_.~-]/;
  const encode = (text: string): string =>
    [...Buffer.from(text, 'utf8')]
      .map((byte) => {
        const char = String.fromCharCode(byte);
        return unreserved.test(char) && byte < 128 ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
      })
      .join('');
  const pairs = query.split('&').map((pair) => {
    const at = pair.indexOf('=');
    return [decodeURIComponent(pair.slice(0, at)), decodeURIComponent(pair.slice(at + 1))] as const;
  });
  return pairs
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .join('&');
}
