import fc from 'fast-check';
import { newAddress, newPhone, PhoneWorld, wrongCodes, type Asker } from '../integration/captcha/phones.js';

/**
 * Random stories of one phone, told to the product and to a model that says what every answer must be. Calls that run at
 * once are checked by what may be true of any order.
 */
let phones: PhoneWorld;

beforeAll(async () => {
  phones = await PhoneWorld.open(async (stage) => {
    await stage.tenant('demo', ['alice'], { registration: 'open', smsPerAddressHourly: 1_000_000 });
  });
}, 60_000);
afterAll(() => phones.close());

const CLIENTS = 4;

type State = 'sent' | 'locked' | 'used' | 'superseded' | 'expired';

interface Captcha {
  readonly captchaId: string;
  readonly code: string;
  state: State;
  tries: number;
}

interface Token {
  readonly actionToken: string;
  state: 'good' | 'used' | 'expired';
}

const REFUSAL: Record<State, string> = {
  sent: 'CAPTCHA_INVALID',
  locked: 'CAPTCHA_LOCKED',
  used: 'TOKEN_USED',
  superseded: 'CAPTCHA_EXPIRED',
  expired: 'CAPTCHA_EXPIRED',
};

class Story {
  private readonly captchas: Captcha[] = [];
  private readonly tokens: Token[] = [];
  /** In force within its resend window, and who asked for it. */
  private active: { captcha: Captcha; client: number } | null = null;
  /** What Redis counts; MySQL counts `captchas`. */
  private counted = { all: 0, by: Array<number>(CLIENTS).fill(0) };

  private constructor(
    private readonly clients: readonly Asker[],
    private readonly messagesBefore: number,
  ) {}

  static async begin(): Promise<Story> {
    const phone = newPhone();
    await phones.registered(await phones.asker('demo', { phone }), `owner-${phone}`);
    const clients = await Promise.all(
      Array.from({ length: CLIENTS }, () => phones.asker('demo', { phone, address: newAddress() })),
    );
    return new Story(clients, phones.sms.messages.length);
  }

  async send(client: number): Promise<void> {
    const { status, body } = await phones.send(this.clients[client], 'login');
    if (this.active) {
      if (this.active.client === client) expect(body.captchaId).toBe(this.active.captcha.captchaId);
      else expect(status).toBe(429);
    } else if (this.isLimited(client)) expect(status).toBe(429);
    else {
      expect(status).toBe(200);
      this.sent(client, body.captchaId);
    }
    this.checkMessages();
  }

  /** All clients at once: one message at most. */
  async sendAll(): Promise<void> {
    const mayAny = this.active === null && this.clients.some((_, client) => !this.isLimited(client));
    const answers = await Promise.all(this.clients.map((asker) => phones.send(asker, 'login')));
    const ok = answers.flatMap(({ status, body }, client) => (status === 200 ? [{ client, id: body.captchaId }] : []));
    expect(ok.length).toBe(mayAny || this.active ? 1 : 0);
    if (mayAny) this.sent(ok[0].client, ok[0].id);
    this.checkMessages();
  }

  async try(which: number, right: boolean): Promise<void> {
    const captcha = this.pick(which);
    if (!captcha) return;
    const { status, body } = await phones.verify(captcha.captchaId, right ? captcha.code : wrongCodes(captcha.code)[0]);
    if (captcha.state === 'sent') {
      captcha.tries += 1;
      if (right) return this.won(captcha, status, body.actionToken);
    }
    expect({ status: status >= 400, code: body.code }).toEqual({ status: true, code: REFUSAL[captcha.state] });
    if (captcha.state === 'sent' && captcha.tries === 5) this.end(captcha, 'locked');
  }

  /** Right and wrong tries at once: no more than what is left of five is compared, one wins at most. */
  async tryManyAtOnce(which: number, rightOnes: number, wrongOnes: number): Promise<void> {
    const captcha = this.pick(which);
    if (!captcha) return;
    const wrong = wrongCodes(captcha.code, wrongOnes);
    const codes = [...Array<string>(rightOnes).fill(captcha.code), ...wrong];
    const answers = await Promise.all(codes.map((code) => phones.verify(captcha.captchaId, code)));
    const won = answers.filter(({ status }) => status === 200);
    const compared = answers.filter(({ body }) => body.code === 'CAPTCHA_INVALID').length + won.length;
    if (captcha.state !== 'sent') {
      expect([won.length, compared]).toEqual([0, 0]);
      return;
    }
    expect(won.length).toBeLessThanOrEqual(1);
    expect(captcha.tries + compared).toBeLessThanOrEqual(5);
    captcha.tries += compared;
    if (won.length === 1) this.won(captcha, 200, won[0].body.actionToken);
    else {
      expect(rightOnes === 0 || captcha.tries === 5).toBe(true);
      if (captcha.tries === 5) this.end(captcha, 'locked');
    }
  }

  async spend(which: number, times: number): Promise<void> {
    const token = this.tokens[which % Math.max(1, this.tokens.length)];
    if (!token) return;
    const { actionToken } = token;
    const answers = await Promise.all(
      Array.from({ length: times }, () => phones.login(this.clients[0], { actionToken })),
    );
    const good = answers.filter(({ status }) => status === 200).length;
    expect(good).toBe(token.state === 'good' ? 1 : 0);
    const expected = token.state === 'expired' ? 'TOKEN_EXPIRED' : 'TOKEN_USED';
    expect(answers.filter(({ body }) => body.code === expected)).toHaveLength(times - good);
    if (token.state === 'good') token.state = 'used';
  }

  async aMinuteLater(): Promise<void> {
    await phones.aMinuteLater();
    this.active = null;
  }

  /** Every code and token is too old; the hour is not over. */
  async tooLate(): Promise<void> {
    await phones.aMinuteLater();
    await phones.world.sql('demo', 'UPDATE im_captchas SET expires_at = NOW(3) - INTERVAL 1 SECOND');
    await phones.world.sql('demo', 'UPDATE im_action_tokens SET expires_at = NOW(3) - INTERVAL 1 SECOND');
    this.active = null;
    for (const captcha of this.captchas) if (captcha.state === 'sent') captcha.state = 'expired';
    for (const token of this.tokens) if (token.state === 'good') token.state = 'expired';
  }

  async redisForgets(): Promise<void> {
    await phones.forget();
    this.active = null;
    this.counted = { all: 0, by: Array<number>(CLIENTS).fill(0) };
  }

  private isLimited(client: number): boolean {
    return this.counted.all >= 5 || this.counted.by[client] >= 2 || this.captchas.length >= 5;
  }

  private sent(client: number, captchaId: string): void {
    for (const older of this.captchas) if (older.state === 'sent') older.state = 'superseded';
    const captcha: Captcha = { captchaId, code: phones.sms.codeFor(this.clients[0].phone), state: 'sent', tries: 0 };
    this.captchas.push(captcha);
    this.active = { captcha, client };
    this.counted.all += 1;
    this.counted.by[client] += 1;
  }

  private won(captcha: Captcha, status: number, actionToken: string): void {
    expect(status).toBe(200);
    this.tokens.push({ actionToken, state: 'good' });
    this.end(captcha, 'used');
  }

  private end(captcha: Captcha, state: 'locked' | 'used'): void {
    captcha.state = state;
    if (this.active?.captcha === captcha) this.active = null;
  }

  private pick(which: number): Captcha | undefined {
    return this.captchas[which % Math.max(1, this.captchas.length)];
  }

  /** Each code in the story was one message, and there was no other. */
  private checkMessages(): void {
    expect(phones.sms.messages.length - this.messagesBefore).toBe(this.captchas.length);
    expect(this.captchas.length).toBeLessThanOrEqual(5);
  }
}

const client = fc.nat({ max: CLIENTS - 1 });
const which = fc.nat({ max: 4 });
const step = fc.oneof(
  { weight: 4, arbitrary: client.map((c) => ({ name: 'send', run: (story: Story) => story.send(c) })) },
  { weight: 1, arbitrary: fc.constant({ name: 'sendAll', run: (story: Story) => story.sendAll() }) },
  {
    weight: 6,
    arbitrary: fc
      .tuple(which, fc.boolean())
      .map(([w, right]) => ({ name: `try ${w} ${right}`, run: (story: Story) => story.try(w, right) })),
  },
  {
    weight: 3,
    arbitrary: fc.tuple(which, fc.nat({ max: 3 }), fc.nat({ max: 6 })).map(([w, right, wrong]) => ({
      name: `at once ${w}: ${right} right, ${wrong} wrong`,
      run: (story: Story) => story.tryManyAtOnce(w, right, wrong),
    })),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(which, fc.integer({ min: 1, max: 4 }))
      .map(([w, times]) => ({ name: `spend ${w} ${times} times`, run: (story: Story) => story.spend(w, times) })),
  },
  { weight: 3, arbitrary: fc.constant({ name: 'a minute later', run: (story: Story) => story.aMinuteLater() }) },
  { weight: 1, arbitrary: fc.constant({ name: 'too late', run: (story: Story) => story.tooLate() }) },
  { weight: 1, arbitrary: fc.constant({ name: 'redis forgets', run: (story: Story) => story.redisForgets() }) },
);

it('every story of codes and tokens ends as the model says', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
      const story = await Story.begin();
      for (const { run } of steps) await run(story);
    }),
    { numRuns: Number(process.env.CAPTCHA_RUNS ?? 15), endOnFailure: true, verbose: true },
  );
}, 300_000);
