import { createBackoff } from './backoff.js';
import { TridentError } from './errors.js';
import type { Rest } from './rest.js';
import type { Cancel, Runtime } from './runtime.js';

/** A signed-in user. Keep it to `resume` later; it holds secrets. */
export interface Session {
  tenantId: string;
  uid: string;
  accessToken: string;
  refreshToken: string;
  /** end of the access token, milliseconds since 1970 by this device's clock */
  expiresAt: number;
}

export interface Credentials {
  /** enterprise code: which tenant */
  enterprise: string;
  account: string;
  password: string;
  /**
   * Action token of the scene login. Asked for (`CAPTCHA_INVALID`) when many have guessed at the account: verify a code by
   * `POST /v1/auth/captchas` and log in again with it.
   */
  proofToken?: string;
}

interface TokenAnswer {
  uid?: string;
  accessToken: string;
  refreshToken: string;
  /** seconds */
  expiresIn: number;
}

export interface AuthHooks {
  onSession(session: Session): void;
  onSignedOut(error: TridentError): void;
}

/** a token that ends within this time is renewed before it is used */
const NEARLY_OVER_MS = 5000;
const notLoggedIn = (): TridentError => new TridentError('UNAUTHENTICATED', 'log in first', false);

/** Login, and the renewal of the access token after about three quarters of its life. */
export const createAuth = (runtime: Runtime, rest: Rest, hooks: AuthHooks) => {
  const backoff = createBackoff(runtime, 1000, 60_000);
  let session: Session | undefined;
  let timer: Cancel | undefined;
  let refreshing: Promise<Session> | undefined;

  const stop = (): void => {
    timer?.();
    session = undefined;
  };
  const renewAfter = (delayMs: number): void => {
    timer?.();
    timer = runtime.after(delayMs, () => {
      refresh().catch((error: TridentError) => {
        if (session && error.retryable) renewAfter(backoff.next(error.retryAfterMs));
      });
    });
  };
  const use = (next: Session): void => {
    session = next;
    renewAfter(Math.max(0, next.expiresAt - runtime.now()) * (0.7 + runtime.random() * 0.1));
  };
  const post = async (path: string, body: object, tenantId: string, uid = ''): Promise<Session> => {
    const before = session;
    const answer = await rest<TokenAnswer>('POST', path, { body, repeatable: true });
    if (session !== before) throw new TridentError('CLOSED', 'signed out meanwhile', false);
    const { accessToken, refreshToken, expiresIn } = answer;
    const expiresAt = runtime.now() + expiresIn * 1000;
    const next = { tenantId, uid: answer.uid ?? uid, accessToken, refreshToken, expiresAt };
    backoff.reset();
    use(next);
    hooks.onSession(next);
    return next;
  };
  const rotate = async (): Promise<Session> => {
    if (!session) throw notLoggedIn();
    const { refreshToken, tenantId, uid } = session;
    try {
      // a lost answer may be asked for again: within its grace time the server gives the same successor
      return await post('/v1/auth/refresh', { refreshToken }, tenantId, uid);
    } catch (thrown) {
      const error = TridentError.from(thrown);
      if (!error.retryable && session) {
        stop();
        hooks.onSignedOut(error);
      }
      throw error;
    }
  };
  /** Rotates the tokens; calls at the same time share one rotation. */
  const refresh = (): Promise<Session> => {
    refreshing ??= rotate().finally(() => {
      refreshing = undefined;
    });
    return refreshing;
  };

  return {
    session: () => session,
    async login({ enterprise, account, password, proofToken }: Credentials): Promise<Session> {
      const body = { code: enterprise };
      const tenant = await rest<{ tenantId: string; loginToken: string }>('POST', '/v1/auth/enterprise', {
        body,
        repeatable: true,
      });
      const proof = proofToken === undefined ? {} : { proofToken };
      return post('/v1/auth/login', { loginToken: tenant.loginToken, account, password, ...proof }, tenant.tenantId);
    },
    use,
    refresh,
    stop,
    /** An access token that is good for a while yet. */
    async token(): Promise<string> {
      if (!session) throw notLoggedIn();
      const nearlyOver = session.expiresAt - runtime.now() < NEARLY_OVER_MS;
      return (nearlyOver ? await refresh() : session).accessToken;
    },
  };
};
