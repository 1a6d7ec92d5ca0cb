import { Redis } from 'ioredis';
import type { TokenPair } from '../../../src/modules/auth/auth.types.js';
import type { CaptchaTicket, Scene } from '../../../src/modules/captcha/captcha.types.js';
import { givenServers } from '../../support/environment.js';
import type { RestAnswer, Stage } from '../../support/stage.js';
import { SmsServer } from '../../support/sms-server.js';
import { World } from '../auth/world.js';

let counter = 0;

/** A number that no other test of the file has, in its national form. */
export function newPhone(): string {
  counter += 1;
  return `138${String(10_000_000 + counter)}`;
}

/** An address that no other test of the file has. */
export function newAddress(): string {
  counter += 1;
  return `10.${(counter >> 16) & 255}.${(counter >> 8) & 255}.${counter & 255}`;
}

/** Whoever asks for codes: where from, with which login token, for which phone. */
export interface Asker {
  readonly tenant: string;
  readonly phone: string;
  readonly address: string;
  readonly loginToken: string;
}

/** A node, the SMS service behind it, and people with phones. */
export class PhoneWorld {
  private constructor(
    readonly world: World,
    readonly sms: SmsServer,
    /** To look at what Redis holds and to harm it. */
    readonly redis: Redis,
  ) {}

  static async open(fill: (stage: Stage) => Promise<void>, settings: Record<string, string> = {}): Promise<PhoneWorld> {
    const sms = await SmsServer.open();
    // One trusted proxy, so that a test can come from many addresses.
    const world = await World.open(fill, {
      ...sms.settings,
      SMS_TIMEOUT_MS: '1500',
      TRUSTED_PROXY_DEPTH: '1',
      ...settings,
    });
    return new PhoneWorld(world, sms, new Redis(givenServers().redis));
  }

  async asker(tenant: string, more: Partial<Asker> = {}): Promise<Asker> {
    const loginToken = more.loginToken ?? (await this.world.loginToken(tenant));
    return { tenant, phone: more.phone ?? newPhone(), address: more.address ?? newAddress(), loginToken };
  }

  send(asker: Asker, scene: Scene, more: object = {}): Promise<RestAnswer<CaptchaTicket>> {
    const { phone, address, loginToken } = asker;
    return this.world.call<CaptchaTicket>('POST', '/v1/auth/captchas', {
      body: { loginToken, scene, phone, ...more },
      headers: { 'x-forwarded-for': address },
    });
  }

  verify(captchaId: string, code: unknown): Promise<RestAnswer<{ actionToken: string }>> {
    return this.world.call('POST', `/v1/auth/captchas/${captchaId}/verify`, { body: { code } });
  }

  /** A code that was sent, and what it is. */
  async code(asker: Asker, scene: Scene): Promise<{ captchaId: string; code: string }> {
    const { status, body } = await this.send(asker, scene);
    if (status !== 200) throw new Error(`code: ${status} ${JSON.stringify(body)}`);
    return { captchaId: body.captchaId, code: this.sms.codeFor(asker.phone) };
  }

  async actionToken(asker: Asker, scene: Scene): Promise<string> {
    const { captchaId, code } = await this.code(asker, scene);
    const { status, body } = await this.verify(captchaId, code);
    if (status !== 200) throw new Error(`verify: ${status} ${JSON.stringify(body)}`);
    return body.actionToken;
  }

  async register(asker: Asker, account: string, more: object = {}): Promise<RestAnswer<TokenPair>> {
    return this.world.call<TokenPair>('POST', '/v1/auth/register', {
      body: { loginToken: asker.loginToken, account, password: 'first-pass-1', nickname: account, ...more },
    });
  }

  /** An account with a phone. */
  async registered(asker: Asker, account: string): Promise<TokenPair & { account: string }> {
    const { status, body } = await this.register(asker, account, {
      actionToken: await this.actionToken(asker, 'register'),
    });
    if (status !== 201) throw new Error(`register: ${status} ${JSON.stringify(body)}`);
    return { ...body, account };
  }

  login(asker: Asker, body: object): Promise<RestAnswer<TokenPair>> {
    return this.world.call<TokenPair>('POST', '/v1/auth/login', { body: { loginToken: asker.loginToken, ...body } });
  }

  reset(asker: Asker, actionToken: string, password: string): Promise<RestAnswer> {
    return this.world.call('POST', '/v1/auth/password/reset', {
      body: { loginToken: asker.loginToken, actionToken, password },
    });
  }

  /** Moves everything that MySQL knows about a code into the past. */
  async age(tenant: string, captchaId: string, seconds: number): Promise<void> {
    await this.world.sql(
      tenant,
      `UPDATE im_captchas SET created_at = created_at - INTERVAL ? SECOND, expires_at = expires_at - INTERVAL ? SECOND
       WHERE id = ?`,
      [seconds, seconds, captchaId.split('.')[1]],
    );
  }

  /** Keys of this deployment that contain `part`. */
  async keys(part = ''): Promise<string[]> {
    const keys: string[] = [];
    const stream = this.redis.scanStream({ match: `${this.world.stage.name}:*${part}*`, count: 1000 });
    for await (const page of stream) keys.push(...(page as string[]));
    return keys;
  }

  /** Keys without a time to live. */
  async endless(): Promise<string[]> {
    const keys = await this.keys();
    const left = await Promise.all(keys.map((key) => this.redis.ttl(key)));
    return keys.filter((_, index) => left[index] === -1);
  }

  /** Ends the resend window of every code. */
  async aMinuteLater(): Promise<void> {
    for (const key of await this.keys('captcha:active')) await this.redis.pexpire(key, 600_000 - 60_500);
  }

  /** Redis loses all that it knew of codes and action tokens; login tokens stay, or nobody could go on. */
  async forget(): Promise<void> {
    const keys = [...(await this.keys('captcha')), ...(await this.keys('token:action'))];
    if (keys.length > 0) await this.redis.del(keys);
  }

  async close(): Promise<void> {
    this.redis.disconnect();
    await this.world.close();
    await this.sms.close();
  }
}

/** Five codes that are not this one. */
export const wrongCodes = (code: string, count = 5): string[] =>
  Array.from({ length: count }, (_, index) => String((Number(code) + index + 1) % 1_000_000).padStart(6, '0'));
