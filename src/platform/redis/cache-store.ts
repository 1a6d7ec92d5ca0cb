import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Cluster } from 'ioredis';
import type { TenantId } from '../ids/ids.js';
import { KeyRemovals } from './key-removals.js';
import { KnownServer } from './known-server.js';
import { RedisClients } from './redis-clients.js';
import { type RedisScript, RedisScripts } from './redis-scripts.js';

/** Life of a lease that nobody fills, seconds: longer than any load takes. */
export const LEASE_SECONDS = 30;

export interface CacheOptions {
  /** Label of the cache in metrics and logs. */
  readonly name: string;
  readonly keyOf: (tenant: TenantId, id: string) => string;
  /** Life of an entry, spread by ±10 %. */
  readonly ttlSeconds: number;
  /** Life of "there is no such thing"; of values only. */
  readonly absentTtlSeconds?: number;
}

/** The way of all caches to Redis. */
@Injectable()
export class CacheStore {
  constructor(
    private readonly clients: RedisClients,
    readonly scripts: RedisScripts,
    readonly server: KnownServer,
    readonly removals: KeyRemovals,
  ) {}

  /**
   * Runs a script whose keys are independent of each other: once for all, or one by one where keys lie on several servers.
   * @param argsOf arguments for the keys at these places
   * @returns one reply for each key
   */
  async runEach(
    script: RedisScript,
    keys: readonly string[],
    argsOf: (places: readonly number[]) => (string | number)[],
  ): Promise<unknown[]> {
    const all = keys.map((_key, index) => index);
    if (keys.length === 0) return [];
    if (!(this.clients.command instanceof Cluster)) {
      return (await this.scripts.run(script, keys, argsOf(all))) as unknown[];
    }
    const replies = await Promise.all(all.map((index) => this.scripts.run(script, [keys[index]], argsOf([index]))));
    return replies.map((reply) => (reply as unknown[])[0]);
  }

  freshToken(): string {
    return randomBytes(12).toString('base64url');
  }
}

/** Seconds, spread by ±10 %, so that what was filled together does not end together. */
export const spread = (seconds: number): number => Math.max(1, Math.round(seconds * (0.9 + Math.random() * 0.2)));
