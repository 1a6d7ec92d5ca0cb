import { createHash, createHmac } from 'node:crypto';

const ALGORITHM = 'ACS3-HMAC-SHA256';

export interface AliyunCall {
  /** The service's address, such as `https://dysmsapi.aliyuncs.com`. */
  readonly endpoint: string;
  readonly action: string;
  readonly version: string;
  readonly query: Readonly<Record<string, string>>;
  readonly accessKeyId: string;
  readonly accessKeySecret: string;
  readonly now: Date;
  /** Used once; the service refuses a repeated one. */
  readonly nonce: string;
}

export interface SignedRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * A POST of Alibaba Cloud's RPC style, signed by its scheme V3 (ACS3-HMAC-SHA256): parameters in the query, no body.
 * https://www.alibabacloud.com/help/en/sdk/product-overview/v3-request-structure-and-signature
 */
export function signAliyunCall(call: AliyunCall): SignedRequest {
  const url = new URL(call.endpoint);
  const query = Object.keys(call.query)
    .sort()
    .map((name) => `${encode(name)}=${encode(call.query[name])}`)
    .join('&');
  const signed: Record<string, string> = {
    host: url.host,
    'x-acs-action': call.action,
    'x-acs-content-sha256': sha256(''),
    'x-acs-date': call.now.toISOString().replace(/\.\d+Z$/, 'Z'),
    'x-acs-signature-nonce': call.nonce,
    'x-acs-version': call.version,
  };
  const names = Object.keys(signed).sort();
  const lines = names.map((name) => `${name}:${signed[name]}\n`).join('');
  const request = ['POST', '/', query, lines, names.join(';'), sha256('')].join('\n');
  const signature = createHmac('sha256', call.accessKeySecret)
    .update(`${ALGORITHM}\n${sha256(request)}`)
    .digest('hex');
  const { host: _host, ...headers } = signed;
  return {
    url: `${url.origin}/?${query}`,
    headers: {
      ...headers,
      authorization: `${ALGORITHM} Credential=${call.accessKeyId},SignedHeaders=${names.join(';')},Signature=${signature}`,
    },
  };
}

/** RFC 3986: `encodeURIComponent` leaves five characters alone that the signature wants escaped. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
