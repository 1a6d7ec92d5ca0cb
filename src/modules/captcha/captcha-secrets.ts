import { createHmac, hkdfSync, randomBytes, randomInt } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { ENV, type Env } from '../../platform/env/env.js';
import { asTenantId, isDecimalId, type TenantId } from '../../platform/ids/ids.js';
import type { Scene } from './captcha.types.js';

const ID = /^[A-Za-z0-9_-]{22}$/;
const DIGITS = 6;

/** A captcha's id within its tenant, and the tenant. */
export interface CaptchaName {
  readonly tenant: TenantId;
  readonly id: string;
}

/** What phones, codes and addresses are turned into before they are stored anywhere. */
@Injectable()
export class CaptchaSecrets {
  private readonly phoneKey: Buffer;
  private readonly codeKey: Buffer;

  constructor(@Inject(ENV) env: Pick<Env, 'PHONE_HASH_KEY' | 'JWT_SECRET'>) {
    const derive = (secret: string, use: string): Buffer => Buffer.from(hkdfSync('sha256', secret, '', use, 32));
    this.phoneKey = derive(env.PHONE_HASH_KEY, 'trident-im phone');
    this.codeKey = derive(env.JWT_SECRET, 'trident-im captcha code');
  }

  /** 16 random bytes. */
  newId(): string {
    return randomBytes(16).toString('base64url');
  }

  newCode(): string {
    return String(randomInt(0, 10 ** DIGITS)).padStart(DIGITS, '0');
  }

  /** Keyed, since all phone numbers can be tried; with the tenant, so that two tenants' databases cannot be compared. */
  phoneHash(tenant: TenantId, phone: string): Buffer {
    return createHmac('sha256', this.phoneKey).update(`phone|${tenant}|${phone}`).digest();
  }

  /** Bound to all that the code is for, so that no code fits anywhere else. */
  codeHash(tenant: TenantId, id: string, code: string): Buffer {
    return createHmac('sha256', this.codeKey).update(`code|${tenant}|${id}|${code}`).digest();
  }

  /** Short name of an address or a client among those that ask for one phone. */
  askerHash(tenant: TenantId, asker: string): string {
    return createHmac('sha256', this.phoneKey).update(`asker|${tenant}|${asker}`).digest('base64url').slice(0, 16);
  }
}

/** The subject of limits and of the active code, as it stands in Redis keys. */
export interface CaptchaSubject {
  readonly tenant: TenantId;
  readonly scene: Scene;
  readonly phoneHash: Buffer;
}

export const publicId = ({ tenant, id }: CaptchaName): string => `${tenant}.${id}`;

/** @returns null for what is no id of ours */
export function parsePublicId(text: string): CaptchaName | null {
  const [tenant, id, ...rest] = text.length > 60 ? [] : text.split('.');
  if (rest.length > 0 || !isDecimalId(tenant) || !ID.test(id ?? '')) return null;
  return { tenant: asTenantId(tenant), id };
}
