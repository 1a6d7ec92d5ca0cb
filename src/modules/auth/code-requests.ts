import { Injectable } from '@nestjs/common';
import { AppError } from '../../platform/errors/app-error.js';
import { CaptchaService } from '../captcha/captcha.service.js';
import type { CaptchaTicket, Scene } from '../captcha/captcha.types.js';
import { TenantService } from '../tenant/tenant.service.js';
import { AuthService } from './auth.service.js';
import { LoginTokens } from './login-tokens.js';
import { refuseClosed } from './registration.service.js';

export interface CodeRequest {
  readonly loginToken?: string;
  readonly scene: Scene;
  readonly phone: string;
  readonly deviceId?: string;
}

/** Who may ask for a code, and in which tenant. */
@Injectable()
export class CodeRequests {
  constructor(
    private readonly tokens: LoginTokens,
    private readonly auth: AuthService,
    private readonly tenants: TenantService,
    private readonly captchas: CaptchaService,
  ) {}

  /** Somebody who is not logged in: his login token says which tenant is meant. */
  async forStranger(request: CodeRequest, address: string): Promise<CaptchaTicket> {
    const { loginToken = '', scene, phone, deviceId } = request;
    if (scene === 'bind') throw new AppError('UNAUTHENTICATED');
    const tenant = await this.tokens.tenantOf(loginToken);
    if (scene === 'register') refuseClosed(tenant);
    return this.captchas.send(tenant, { scene, phone, address, client: loginToken, deviceId });
  }

  /** A user who binds a phone: his access token says who he is. */
  async forUser(accessToken: string, request: CodeRequest, address: string): Promise<CaptchaTicket> {
    const { actor } = await this.auth.authenticate(accessToken);
    const { phone, deviceId } = request;
    const tenant = this.tenants.get(actor.tenant);
    const { uid } = actor;
    return this.captchas.send(tenant, { scene: 'bind', phone, address, client: actor.sessionId, deviceId, uid });
  }
}
