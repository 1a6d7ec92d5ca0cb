import { TridentError } from './errors.js';
import type { Runtime } from './runtime.js';
import { ERROR_CODES, type WireError } from './wire.js';

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface RestRequest {
  body?: object;
  token?: string;
  /** at most 64 of `[A-Za-z0-9_.:-]`; makes repeating a write safe */
  idempotencyKey?: string;
  /** repeat at the next server when this one cannot be reached */
  repeatable?: boolean;
}

const problem = (response: Response, text: string): TridentError => {
  let body: Partial<WireError> & { detail?: string } = {};
  try {
    body = JSON.parse(text) ?? {};
  } catch {
    // a proxy's page; the status says enough
  }
  const { status } = response;
  const seconds = Number(response.headers.get('retry-after') ?? NaN);
  return new TridentError(
    ERROR_CODES.find((code) => code === body.code) ?? (status === 401 ? 'UNAUTHENTICATED' : 'INTERNAL'),
    body.detail ?? `HTTP ${status}`,
    body.retryable ?? [429, 502, 503, 504].includes(status),
    seconds >= 0 ? seconds * 1000 : undefined,
    body.details,
  );
};

/** REST calls with a time limit, spread over the given servers. */
export const createRest = (runtime: Runtime, servers: readonly string[], timeoutMs: number) => {
  let current = 0;

  const once = async <T>(url: string, method: HttpMethod, request: RestRequest): Promise<T> => {
    const abort = new AbortController();
    const cancel = runtime.after(timeoutMs, () =>
      abort.abort(new TridentError('TIMEOUT', `no answer in ${timeoutMs} ms`, true)),
    );
    const headers: Record<string, string> = { accept: 'application/json' };
    if (request.body) headers['content-type'] = 'application/json';
    if (request.token) headers.authorization = `Bearer ${request.token}`;
    if (request.idempotencyKey) headers['idempotency-key'] = request.idempotencyKey;
    try {
      const body = request.body && JSON.stringify(request.body);
      const response = await runtime.fetch(url, { method, headers, body, signal: abort.signal });
      const text = await response.text();
      if (!response.ok) throw problem(response, text);
      return JSON.parse(text || '{}');
    } finally {
      cancel();
    }
  };

  return async <T>(method: HttpMethod, path: string, request: RestRequest = {}): Promise<T> => {
    const repeatable = request.repeatable ?? (method === 'GET' || request.idempotencyKey !== undefined);
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await once<T>(servers[current % servers.length] + path, method, request);
      } catch (thrown) {
        const error = TridentError.from(thrown);
        const unreachable = error.code === 'NETWORK' || error.code === 'TIMEOUT';
        if (unreachable) current += 1;
        if (!unreachable || !repeatable || attempt >= servers.length) throw error;
      }
    }
  };
};

export type Rest = ReturnType<typeof createRest>;
