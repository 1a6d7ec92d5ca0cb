import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { TenantId } from '../../platform/ids/ids.js';
import { RedisKeys } from '../../platform/redis/keys.js';
import { loadScript, RedisScripts } from '../../platform/redis/redis-scripts.js';

const TRY = loadScript(__dirname, 'login_try');
const FAILED = loadScript(__dirname, 'login_failed');

const WINDOW_SECONDS = 15 * 60;
/** People mistype, and several devices of one account come back together. */
const FREE_TRIES = 10;
const LONGEST_DELAY_MS = 5 * 60_000;

export type TryAnswer =
  { readonly outcome: 'try'; readonly failedAddresses: number } | { readonly outcome: 'wait'; readonly waitMs: number };

/** Whose log-in it is: an account as it was typed, from an address as limits count it. */
export interface LoginSubject {
  readonly tenant: TenantId;
  readonly account: string;
  readonly address: string;
}

/** Counters of log-ins that did not succeed. What does not exist is counted like what does. */
@Injectable()
export class LoginTriesRedis {
  constructor(
    private readonly keys: RedisKeys,
    private readonly scripts: RedisScripts,
  ) {}

  /** Counts a try before it is made. @throws RedisUnavailable */
  async begin(subject: LoginSubject): Promise<TryAnswer> {
    const keys = [this.triesKey(subject), this.addressesKey(subject)];
    const reply = await this.scripts.run(TRY, keys, [WINDOW_SECONDS, FREE_TRIES, LONGEST_DELAY_MS]);
    const [word, value] = reply as [string, number];
    if (word === 'TRY') return { outcome: 'try', failedAddresses: value };
    if (word === 'WAIT') return { outcome: 'wait', waitMs: value };
    throw new Error(`login_try answered ${word}`);
  }

  /** @throws RedisUnavailable */
  async failed(subject: LoginSubject): Promise<void> {
    await this.scripts.run(FAILED, [this.addressesKey(subject)], [subject.address, WINDOW_SECONDS]);
  }

  /** The right password ends the delays of its address. @throws RedisUnavailable */
  async succeeded(subject: LoginSubject): Promise<void> {
    await this.scripts.command('login_succeeded', (client) => client.unlink(this.triesKey(subject)));
  }

  private triesKey({ tenant, account, address }: LoginSubject): string {
    return this.keys.of('loginTries', { t: tenant, account: digest(account), address });
  }

  private addressesKey({ tenant, account }: LoginSubject): string {
    return this.keys.of('loginAddresses', { t: tenant, account: digest(account) });
  }
}

/** Accounts are compared byte for byte, may be phone numbers, and are as long as a stranger wants. */
const digest = (account: string): string => createHash('sha256').update(account).digest('base64url').slice(0, 32);
