import type { Session } from '../../src/index.js';
import type { IncomingMessage, ServerResponse } from 'node:http';

export interface FakeUser {
  uid: string;
  account: string;
  password: string;
}

/** The few REST calls a client makes: login, refresh, logout, the list of topics. Tokens are `access-<uid>-<n>`. */
export class FakeRest {
  users: FakeUser[] = [];
  topics: string[] = [];
  /** seconds */
  expiresIn = 900;
  refreshes = 0;
  /** answers this many calls with 503 first */
  unavailable = 0;
  private issued = 0;
  private readonly refreshTokens = new Map<string, string>();
  readonly ended = new Set<string>();

  uidOf(token: unknown): string | undefined {
    const uid = /^access-(\d+)-\d+$/.exec(String(token))?.[1];
    return uid !== undefined && !this.ended.has(String(token)) ? uid : undefined;
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const chunk of request) text += String(chunk);
    const [status, body] = this.answer(`${request.method} ${request.url}`, text ? JSON.parse(text) : {}, request);
    response.writeHead(status, { 'content-type': status < 400 ? 'application/json' : 'application/problem+json' });
    response.end(JSON.stringify(body));
  }

  private answer(call: string, body: Record<string, string>, request: IncomingMessage): [number, object] {
    if (this.unavailable > 0) {
      this.unavailable -= 1;
      return problem(503, 'OVERLOADED', true);
    }
    switch (call) {
      case 'POST /v1/auth/enterprise':
        if (body.code !== 'demo') return problem(404, 'TENANT_UNKNOWN');
        return [200, { tenantId: '1', tenantName: 'Demo', loginToken: 'login-1', expiresIn: 300 }];
      case 'POST /v1/auth/login': {
        const user = this.users.find(({ account }) => account === body.account);
        if (user?.password !== body.password || body.loginToken !== 'login-1') return problem(401, 'UNAUTHENTICATED');
        return [200, this.tokens(user.uid)];
      }
      case 'POST /v1/auth/refresh': {
        const uid = this.refreshTokens.get(body.refreshToken);
        if (uid === undefined) return problem(409, 'TOKEN_USED');
        this.refreshes += 1;
        this.refreshTokens.delete(body.refreshToken);
        return [200, this.tokens(uid)];
      }
      case 'POST /v1/auth/logout':
        return [204, {}];
      case 'GET /v1/im/topics': {
        const token = request.headers.authorization?.replace('Bearer ', '');
        if (this.uidOf(token) === undefined) return problem(401, 'TOKEN_EXPIRED');
        return [200, { items: this.topics.map((topic) => ({ topic, name: 'Lobby' })), nextCursor: null }];
      }
      default:
        return problem(404, 'NOT_FOUND');
    }
  }

  /** A session as `login` would give it. */
  session(account: string): Session {
    const user = this.users.find((one) => one.account === account);
    if (!user) throw new Error(`no user ${account}`);
    return { tenantId: '1', expiresAt: Infinity, ...this.tokens(user.uid) };
  }

  private tokens(uid: string): { uid: string; accessToken: string; refreshToken: string; expiresIn: number } {
    this.issued += 1;
    const refreshToken = `refresh-${uid}-${this.issued}`;
    this.refreshTokens.set(refreshToken, uid);
    return { uid, accessToken: `access-${uid}-${this.issued}`, refreshToken, expiresIn: this.expiresIn };
  }
}

const problem = (status: number, code: string, retryable = false): [number, object] => [
  status,
  { type: 'about:blank', title: code, status, code, detail: code, retryable, requestId: 'r1' },
];
