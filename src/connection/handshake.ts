import { Inject, Injectable } from '@nestjs/common';
import { IsIn, IsOptional, IsString, MaxLength, MinLength } from 'class-validator';
import { AuthService } from '../modules/auth/auth.service.js';
import { LimitsService } from '../modules/limits/limits.service.js';
import { ENV, type Env } from '../platform/env/env.js';
import { AppError } from '../platform/errors/app-error.js';
import { toAppError } from '../platform/errors/to-app-error.js';
import { clientAddress } from '../platform/http/client-address.js';
import { errorText } from '../platform/http/problem.filter.js';
import { validateDto } from '../platform/http/validation.js';
import { Logger } from '../platform/observe/logger.js';
import type { ClientSocket } from '../platform/socket/socket-client.js';
import { handshakeError } from '../platform/socket/socket-server.js';
import { HandshakeGate } from './handshake-gate.js';

const MAX_USER_AGENT = 128;
const MAX_KNOWN_AGENTS = 1_000;
/** Its Socket.IO client is let in or waits for it: one connection carries one. */
const taken = new WeakSet<object>();
const agents = new Map<string, string>();

/** One string for all that say the same: there are many connections and few kinds of client. */
function shared(agent: string): string {
  const known = agents.get(agent);
  if (known !== undefined) return known;
  if (agents.size < MAX_KNOWN_AGENTS) agents.set(agent, agent);
  return agent;
}

/** `auth` of the handshake. */
class HandshakeDto {
  @IsString()
  @MinLength(1)
  @MaxLength(4096)
  token: string;

  @IsOptional()
  @IsString()
  @MinLength(1)
  @MaxLength(128)
  deviceId?: string;

  @IsOptional()
  @IsIn(['ios', 'android', 'web', 'desktop'])
  device?: string;

  @IsOptional()
  @IsIn(['all', 'manual'])
  subscribe?: 'all' | 'manual';
}

/** Who connects is decided before there is a connection; the tenant comes from the verified token alone. */
@Injectable()
export class Handshake {
  constructor(
    private readonly auth: AuthService,
    private readonly limits: LimitsService,
    private readonly gate: HandshakeGate,
    @Inject(ENV) private readonly env: Env,
    private readonly log: Logger,
  ) {}

  /** Socket.IO middleware: a refusal becomes a `connect_error` whose `data` is the error object. */
  readonly middleware = (client: ClientSocket, next: (error?: Error) => void): void => {
    const { conn } = client;
    // Socket.IO would let a client in once for each CONNECT that comes before the first is answered.
    if (taken.has(conn)) {
      conn.close();
      next(handshakeError(new AppError('VALIDATION_FAILED', { message: 'One connection carries one client.' })));
      return;
    }
    taken.add(conn);
    this.admit(client).then(
      () => next(),
      (thrown: unknown) => {
        taken.delete(conn);
        const error = toAppError(thrown);
        if (error.code === 'INTERNAL') this.log.error({ err: errorText(thrown) }, 'a handshake failed');
        next(handshakeError(error));
      },
    );
  };

  /** Does the session that the socket came with still stand? When that cannot be known now, the first answer counts. */
  async stillStands(client: ClientSocket): Promise<boolean> {
    try {
      await this.auth.recheck(client.data.actor);
      return true;
    } catch (error) {
      return toAppError(error).retryable;
    }
  }

  private async admit(client: ClientSocket): Promise<void> {
    // Before anything that costs: a place among those who are let in. It is given back when that is over.
    const leave = this.gate.enter();
    try {
      await this.check(client);
    } finally {
      leave();
    }
  }

  private async check(client: ClientSocket): Promise<void> {
    await this.limits.spendHandshake(this.addressOf(client));
    const auth: unknown = client.handshake.auth;
    const token = (auth as { token?: unknown } | null)?.token;
    if (typeof token !== 'string' || token === '') throw new AppError('UNAUTHENTICATED');
    const dto = await validateDto(HandshakeDto, auth);
    const { actor, expiresAtMs } = await this.auth.authenticate(dto.token);
    client.data.actor = actor;
    client.data.expiresAtMs = expiresAtMs;
    client.data.deviceId = dto.deviceId ?? null;
    client.data.device = dto.device ?? null;
    client.data.userAgent = shared((client.handshake.headers['user-agent'] ?? '').slice(0, MAX_USER_AGENT));
    client.data.connectedAtMs = Date.now();
    client.data.subscribe = dto.subscribe ?? 'all';
    client.data.membershipChanges = 0;
  }

  private addressOf(client: ClientSocket): string {
    const { headers, address } = client.handshake;
    return clientAddress(address, headers['x-forwarded-for'], this.env.TRUSTED_PROXY_DEPTH);
  }
}
