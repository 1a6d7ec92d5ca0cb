import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { TenantId } from '../../platform/ids/ids.js';
import { RedisKeys } from '../../platform/redis/keys.js';
import { loadScript, RedisScripts } from '../../platform/redis/redis-scripts.js';

const TRY = loadScript(__dirname, 'login_try');
const FAILED = loadScript(__dirname, 'login_failed');
const RIGHT = loadScript(__dirname, 'login_right');

const WINDOW_SECONDS = 15 * 60;
/** People mistype, and several devices of one account come back together. */
const FREE_TRIES = 10;
const LONGEST_DELAY_MS = 5 * 60_000;
/** A try that has not ended after this long is not counted among those that run. */
const LONGEST_TRY_MS = 30_000;
/** Above the highest setting of a tenant there is nothing to count. */
const MOST_ADDRESSES = 1_000;
/** Addresses from which an account was used, and for how long it is known. */
const MOST_PLACES = 20;
const PLACES_SECONDS = 30 * 86_400;

/** From where an account is tried. */
export interface Attackers {
  /** Addresses with a wrong log-in within the window, or one that runs now. */
  readonly addresses: number;
  /** Did somebody log in from this address before, by the right password? */
  readonly isOwnPlace: boolean;
}

export type TryAnswer =
  { readonly outcome: 'try'; readonly attackers: Attackers } | { readonly outcome: 'wait'; readonly waitMs: number };

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
    const args = [WINDOW_SECONDS, FREE_TRIES, LONGEST_DELAY_MS, subject.address, LONGEST_TRY_MS, MOST_ADDRESSES];
    const reply = await this.scripts.run(TRY, this.keysOf(subject), args);
    const [word, value, isPlace] = reply as [string, number, number?];
    if (word === 'TRY') return { outcome: 'try', attackers: { addresses: value, isOwnPlace: isPlace === 1 } };
    if (word === 'WAIT') return { outcome: 'wait', waitMs: value };
    throw new Error(`login_try answered ${word}`);
  }

  /** @throws RedisUnavailable */
  async failed(subject: LoginSubject): Promise<void> {
    const [, addresses] = this.keysOf(subject);
    await this.scripts.run(FAILED, [addresses], [subject.address, WINDOW_SECONDS, MOST_ADDRESSES]);
  }

  /** The right password ends the delays of its address. @throws RedisUnavailable */
  async succeeded(subject: LoginSubject): Promise<void> {
    await this.scripts.run(RIGHT, this.keysOf(subject), [subject.address, MOST_PLACES, PLACES_SECONDS]);
  }

  private keysOf({ tenant, account, address }: LoginSubject): [tries: string, addresses: string, places: string] {
    const params = { t: tenant, account: digest(account) };
    return [
      this.keys.of('loginTries', { ...params, address }),
      this.keys.of('loginAddresses', params),
      this.keys.of('loginPlaces', params),
    ];
  }
}

/** Accounts are compared byte for byte, may be phone numbers, and are as long as a stranger wants. */
const digest = (account: string): string => createHash('sha256').update(account).digest('base64url').slice(0, 32);
