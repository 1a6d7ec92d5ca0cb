import { Injectable } from '@nestjs/common';
import { IsString, MaxLength, MinLength } from 'class-validator';
import { AuthService } from '../modules/auth/auth.service.js';
import { AppError } from '../platform/errors/app-error.js';
import type { ClientSocket } from '../platform/socket/socket-client.js';
import { SocketEvent } from '../platform/socket/socket-event.decorator.js';
import { Closing } from './closing.js';

class HeartbeatDto {}

class RenewDto {
  @IsString()
  @MinLength(1)
  @MaxLength(4096)
  token: string;
}

/** The session of a socket. */
@Injectable()
export class SessionGateway {
  constructor(
    private readonly auth: AuthService,
    private readonly closing: Closing,
  ) {}

  @SocketEvent('session:heartbeat', HeartbeatDto, 'read')
  heartbeat(): { serverTime: string } {
    return { serverTime: new Date().toISOString() };
  }

  /** A newer token of the same session; another user's or session's is refused. */
  @SocketEvent('session:renew', RenewDto)
  async renew(client: ClientSocket, { token }: RenewDto): Promise<{ expiresAt: string }> {
    const { actor, expiresAtMs } = await this.auth.authenticate(token);
    const own = client.data.actor;
    if (actor.tenant !== own.tenant || actor.uid !== own.uid || actor.sessionId !== own.sessionId) {
      throw new AppError('UNAUTHENTICATED', { message: 'The token belongs to another session. Connect anew with it.' });
    }
    client.data.expiresAtMs = expiresAtMs;
    this.closing.closeAtExpiry(client);
    return { expiresAt: new Date(expiresAtMs).toISOString() };
  }
}
