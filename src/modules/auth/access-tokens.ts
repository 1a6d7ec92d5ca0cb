import { createSecretKey } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { JwtService, TokenExpiredError } from '@nestjs/jwt';
import { ENV, type Env } from '../../platform/env/env.js';
import { AppError } from '../../platform/errors/app-error.js';
import { asTenantId, asUserId, isDecimalId, type Actor } from '../../platform/ids/ids.js';
import type { Authenticated } from './auth.types.js';

const ISSUER = 'trident-im';
const AUDIENCE = 'trident-im/access';
const MAX_LENGTH = 2_048;

/** Access tokens: JWT HS256 with the tenant `t`, the user `sub`, the session `sid` and their end. */
@Injectable()
export class AccessTokens {
  /**
   * As a key object: a text is first tried as a public key by the library, which throws and costs a millisecond a token.
   * It takes one, though Nest's declaration does not say so.
   */
  private readonly secret: Buffer;

  constructor(
    private readonly jwt: JwtService,
    @Inject(ENV) private readonly env: Env,
  ) {
    this.secret = createSecretKey(Buffer.from(env.JWT_SECRET)) as unknown as Buffer;
  }

  get ttlSeconds(): number {
    return this.env.ACCESS_TOKEN_TTL_SECONDS;
  }

  issue(actor: Actor): Promise<string> {
    return this.jwt.signAsync(
      { t: actor.tenant, sid: actor.sessionId },
      {
        secret: this.secret,
        algorithm: 'HS256',
        subject: actor.uid,
        issuer: ISSUER,
        audience: AUDIENCE,
        expiresIn: this.ttlSeconds,
      },
    );
  }

  /**
   * Checks signature, algorithm, issuer, audience, end and the form of every claim; nothing that changes later.
   * @throws AppError UNAUTHENTICATED, TOKEN_EXPIRED
   */
  async verify(token: unknown): Promise<Authenticated> {
    if (typeof token !== 'string' || token === '' || token.length > MAX_LENGTH) throw new AppError('UNAUTHENTICATED');
    const { t, sub, sid, exp } = await this.claims(token);
    if (!isDecimalId(t) || !isDecimalId(sub) || !isDecimalId(sid) || !Number.isSafeInteger(exp)) {
      throw new AppError('UNAUTHENTICATED');
    }
    return {
      actor: { tenant: asTenantId(t), uid: asUserId(sub), sessionId: sid },
      expiresAtMs: (exp as number) * 1000,
    };
  }

  private async claims(token: string): Promise<Record<string, unknown>> {
    try {
      return await this.jwt.verifyAsync<Record<string, unknown>>(token, {
        secret: this.secret,
        algorithms: ['HS256'],
        issuer: ISSUER,
        audience: AUDIENCE,
      });
    } catch (error) {
      throw new AppError(error instanceof TokenExpiredError ? 'TOKEN_EXPIRED' : 'UNAUTHENTICATED', { cause: error });
    }
  }
}
