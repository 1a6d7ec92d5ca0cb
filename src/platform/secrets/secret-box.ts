import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { ENV, type Env } from '../env/env.js';

const IV_BYTES = 12;
const TAG_BYTES = 16;

interface Key {
  /** Tells which key sealed a text; says nothing of the key itself. */
  readonly id: string;
  readonly bytes: Buffer;
}

/** A sealed text that no key of this node opens, or that was changed or moved. Its text holds no secret. */
export class SealBroken extends Error {}

/**
 * Secrets at rest: AES-256-GCM under a key made from SECRETS_KEY. A sealed text names its key, so that a new SECRETS_KEY can
 * take over while the old ones (SECRETS_KEYS_OLD) still open what they sealed; and it is bound to its place, so that
 * whoever can write the database cannot move one tenant's secret to another tenant's row.
 */
@Injectable()
export class SecretBox {
  private readonly keys: readonly Key[];

  constructor(@Inject(ENV) env: Pick<Env, 'SECRETS_KEY' | 'SECRETS_KEYS_OLD'>) {
    this.keys = [env.SECRETS_KEY, ...env.SECRETS_KEYS_OLD].map(keyOf);
  }

  /** Id of the key that seals from now on. */
  get keyId(): string {
    return this.keys[0].id;
  }

  /** @param place where the text will stand, such as `third-party/7/sms`; needed again to open it */
  seal(text: string, place: string): string {
    const [{ id, bytes }] = this.keys;
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', bytes, iv).setAAD(Buffer.from(place));
    const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return ['v1', id, Buffer.concat([iv, body, cipher.getAuthTag()]).toString('base64url')].join('.');
  }

  /** @throws SealBroken */
  open(sealed: string, place: string): string {
    const [version, id, data, ...rest] = sealed.split('.');
    const key = this.keys.find((one) => one.id === id);
    if (version !== 'v1' || data === undefined || rest.length > 0) throw new SealBroken('is not a sealed text');
    if (!key) throw new SealBroken(`was sealed by the key ${id}, which this node does not have`);
    const bytes = Buffer.from(data, 'base64url');
    if (bytes.length < IV_BYTES + TAG_BYTES) throw new SealBroken('is not a sealed text');
    try {
      const decipher = createDecipheriv('aes-256-gcm', key.bytes, bytes.subarray(0, IV_BYTES), {
        authTagLength: TAG_BYTES,
      });
      decipher.setAAD(Buffer.from(place)).setAuthTag(bytes.subarray(-TAG_BYTES));
      const body = decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES));
      return Buffer.concat([body, decipher.final()]).toString('utf8');
    } catch {
      throw new SealBroken('was changed, or belongs to another place');
    }
  }
}

function keyOf(secret: string): Key {
  const bytes = Buffer.from(hkdfSync('sha256', secret, '', 'trident-im secrets at rest', 32));
  return { bytes, id: createHash('sha256').update(bytes).digest('hex').slice(0, 8) };
}
