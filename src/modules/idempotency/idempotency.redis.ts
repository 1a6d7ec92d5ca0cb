import { Injectable } from '@nestjs/common';
import type { Actor } from '../../platform/ids/ids.js';
import { RedisKeys } from '../../platform/redis/keys.js';
import { loadScript, RedisScripts } from '../../platform/redis/redis-scripts.js';
import { RUNNING_SECONDS } from './idempotency.store.js';

const CLAIM = loadScript(__dirname, 'claim');
const FINISH = loadScript(__dirname, 'finish');
const RELEASE = loadScript(__dirname, 'release');

export type Claim =
  | { readonly outcome: 'claimed' }
  | { readonly outcome: 'conflict' }
  | { readonly outcome: 'pending'; readonly leftMs: number }
  | { readonly outcome: 'done'; readonly answer: string };

/** Idempotency keys in Redis: who is at work, and the answers of the last day. MySQL has the last word. */
@Injectable()
export class IdempotencyRedis {
  constructor(
    private readonly keys: RedisKeys,
    private readonly scripts: RedisScripts,
  ) {}

  /** After a crash the same request is refused as running until the claim ends. @param owner a fresh token that only this request knows. @throws RedisUnavailable */
  async claim(actor: Actor, key: string, digest: Buffer, owner: string): Promise<Claim> {
    const args = [owner, digest.toString('base64url'), RUNNING_SECONDS];
    const [word, value] = (await this.scripts.run(CLAIM, [this.key(actor, key)], args)) as [string, string | number];
    switch (word) {
      case 'CLAIMED':
        return { outcome: 'claimed' };
      case 'CONFLICT':
        return { outcome: 'conflict' };
      case 'PENDING':
        return { outcome: 'pending', leftMs: Number(value) };
      case 'DONE':
        return { outcome: 'done', answer: String(value) };
      default:
        throw new Error(`idempotency claim answered ${word}`);
    }
  }

  /** @throws RedisUnavailable */
  async finish(actor: Actor, key: string, owner: string, answer: string, keepSeconds: number): Promise<void> {
    await this.scripts.run(FINISH, [this.key(actor, key)], [owner, answer, keepSeconds]);
  }

  /** @throws RedisUnavailable */
  async release(actor: Actor, key: string, owner: string): Promise<void> {
    await this.scripts.run(RELEASE, [this.key(actor, key)], [owner]);
  }

  private key({ tenant, uid }: Actor, key: string): string {
    return this.keys.of('idempotency', { t: tenant, uid, key });
  }
}
