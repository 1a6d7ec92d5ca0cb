import { newAddress, newPhone, PhoneWorld, wrongCodes } from './phones.js';

let phones: PhoneWorld;

beforeAll(async () => {
  phones = await PhoneWorld.open(async (stage) => {
    await stage.tenant('demo', ['alice'], { registration: 'open' });
    await stage.tenant('rival', ['alice'], { registration: 'open' });
    await stage.tenant('closed', ['alice']);
    await stage.tenant('small', ['alice'], { smsPerDay: 2, smsPerAddressHourly: 4 });
  });
}, 60_000);
afterAll(() => phones.close());

const rowOf = async (tenant: string, captchaId: string) => {
  const [row] = await phones.world.sql<Record<string, unknown>>(tenant, 'SELECT * FROM im_captchas WHERE id = ?', [
    captchaId.split('.')[1],
  ]);
  return row;
};

describe('a code', () => {
  it('is sent once, and the resend window is answered with the same captcha', async () => {
    const asker = await phones.asker('demo');
    const first = await phones.send(asker, 'login');
    expect(first).toMatchObject({ status: 200, body: { resendAfter: 60, expiresIn: 600 } });
    expect(first.body.captchaId).toMatch(/^\d+\.[A-Za-z0-9_-]{22}$/);
    const again = await phones.send(asker, 'login');
    expect(again).toMatchObject({ status: 200, body: { captchaId: first.body.captchaId } });
    expect(again.body.resendAfter).toBeLessThanOrEqual(60);
    expect(phones.sms.messages.filter((message) => message.phone === asker.phone)).toHaveLength(1);
    expect(phones.sms.complaints).toEqual([]);
  });

  it('goes through created, sent, verified and consumed, and is forgotten when it is verified', async () => {
    const asker = await phones.asker('demo');
    const { captchaId, code } = await phones.code(asker, 'register');
    expect(await rowOf('demo', captchaId)).toMatchObject({ status: 'sent', attempts: 0, scene: 'register' });
    const { body } = await phones.verify(captchaId, code);
    expect(await rowOf('demo', captchaId)).toMatchObject({ status: 'verified', attempts: 1, code_hash: null });
    expect((await phones.register(asker, 'walker', { actionToken: body.actionToken })).status).toBe(201);
    const row = await rowOf('demo', captchaId);
    expect(row).toMatchObject({ status: 'consumed' });
    expect(row.consumed_at).not.toBeNull();
  });

  it('is burnt by five wrong tries, whoever makes them; the phone is not', async () => {
    const asker = await phones.asker('demo');
    const { captchaId, code } = await phones.code(asker, 'login');
    for (const wrong of wrongCodes(code)) {
      expect(await phones.verify(captchaId, wrong)).toMatchObject({ status: 400, body: { code: 'CAPTCHA_INVALID' } });
    }
    expect(await phones.verify(captchaId, code)).toMatchObject({ status: 429, body: { code: 'CAPTCHA_LOCKED' } });
    expect(await rowOf('demo', captchaId)).toMatchObject({ status: 'failed', reason: 'tries', attempts: 5 });
    const next = await phones.code(asker, 'login');
    expect(next.captchaId).not.toBe(captchaId);
    expect((await phones.verify(next.captchaId, next.code)).status).toBe(200);
  });

  it('is not compared with more than five of a hundred parallel guesses', async () => {
    const asker = await phones.asker('demo');
    const { captchaId, code } = await phones.code(asker, 'login');
    const answers = await Promise.all(wrongCodes(code, 100).map((guess) => phones.verify(captchaId, guess)));
    const codes = answers.map((answer) => answer.body.code);
    expect(codes.filter((each) => each === 'CAPTCHA_INVALID')).toHaveLength(5);
    expect(codes.filter((each) => each === 'CAPTCHA_LOCKED')).toHaveLength(95);
    expect(await rowOf('demo', captchaId)).toMatchObject({ attempts: 5 });
    expect((await phones.verify(captchaId, code)).body.code).toBe('CAPTCHA_LOCKED');
  });

  it('is good once: of many parallel right tries one gets a token', async () => {
    const asker = await phones.asker('demo');
    const { captchaId, code } = await phones.code(asker, 'login');
    const answers = await Promise.all(Array.from({ length: 20 }, () => phones.verify(captchaId, code)));
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1);
    expect(answers.filter((answer) => answer.body.code === 'TOKEN_USED')).toHaveLength(19);
    const tokens = await phones.world.sql('demo', 'SELECT hash FROM im_action_tokens WHERE captcha_id = ?', [
      captchaId.split('.')[1],
    ]);
    expect(tokens).toHaveLength(1);
  });

  it('among wrong guesses wins only if it is one of the first five', async () => {
    for (let round = 0; round < 5; round += 1) {
      const asker = await phones.asker('demo');
      const { captchaId, code } = await phones.code(asker, 'login');
      const guesses = wrongCodes(code, 8);
      guesses.splice(4, 0, code);
      const answers = await Promise.all(guesses.map((guess) => phones.verify(captchaId, guess)));
      const won = answers.filter((answer) => answer.status === 200).length;
      const { status, attempts } = await rowOf('demo', captchaId);
      expect({ won, status }).toEqual(won === 1 ? { won, status: 'verified' } : { won: 0, status: 'failed' });
      expect(Number(attempts)).toBeLessThanOrEqual(5);
      expect(answers.filter((answer) => answer.body.code === 'CAPTCHA_INVALID').length + won).toBe(Number(attempts));
    }
  });

  it('is superseded by a newer one, and by nothing that was refused', async () => {
    const asker = await phones.asker('demo');
    const first = await phones.code(asker, 'login');
    const stranger = await phones.asker('demo', { phone: asker.phone });
    const refused = await phones.send(stranger, 'login');
    expect(refused).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED' } });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(50);
    await phones.aMinuteLater();
    const second = await phones.code(asker, 'login');
    expect(second.captchaId).not.toBe(first.captchaId);
    expect((await phones.verify(first.captchaId, first.code)).body.code).toBe('CAPTCHA_EXPIRED');
    expect((await phones.verify(second.captchaId, second.code)).status).toBe(200);
  });

  it('is good for its life, and not a second longer', async () => {
    const asker = await phones.asker('demo');
    const { captchaId, code } = await phones.code(asker, 'login');
    await phones.age('demo', captchaId, 601);
    expect((await phones.verify(captchaId, code)).body.code).toBe('CAPTCHA_EXPIRED');
    expect(await rowOf('demo', captchaId)).toMatchObject({ status: 'expired', code_hash: null });
  });

  it('is tried by MySQL although Redis has forgotten all of it', async () => {
    const asker = await phones.asker('demo');
    const { captchaId, code } = await phones.code(asker, 'login');
    await phones.verify(captchaId, wrongCodes(code)[0]);
    await phones.forget();
    for (const wrong of wrongCodes(code, 4)) expect((await phones.verify(captchaId, wrong)).status).toBe(400);
    await phones.forget();
    expect((await phones.verify(captchaId, code)).body.code).toBe('CAPTCHA_LOCKED');
  });

  it.each([undefined, null, '', 123456, [], {}, ['123456'], { $ne: '' }, 'x'.repeat(17)])(
    'is not tried by %j',
    async (wrong) => {
      const asker = await phones.asker('demo');
      const { captchaId, code } = await phones.code(asker, 'login');
      expect(await phones.verify(captchaId, wrong)).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
      expect(await rowOf('demo', captchaId)).toMatchObject({ status: 'sent', attempts: 0 });
      expect((await phones.verify(captchaId, code)).status).toBe(200);
    },
  );

  it('is bound to its tenant: the id with another tenant in front is no id', async () => {
    const asker = await phones.asker('demo');
    const { captchaId, code } = await phones.code(asker, 'login');
    const [rival] = (await phones.world.loginToken('rival')).split('.');
    for (const id of [
      `${rival}.${captchaId.split('.')[1]}`,
      `999.${captchaId.split('.')[1]}`,
      '1',
      captchaId + 'A',
      '1.__proto__',
    ]) {
      expect(await phones.verify(id, code)).toMatchObject({ status: 400, body: { code: 'CAPTCHA_INVALID' } });
    }
    expect(await rowOf('demo', captchaId)).toMatchObject({ attempts: 0 });
  });
});

describe('requests for codes', () => {
  it.each([
    '+86 138-1234-5678',
    '008613812345678',
    '(+86)13812345678',
    '（＋８６）138 1234 5678',
    '１３８１２３４５６７８',
    '138 1234 5678',
    '8613812345678',
    '(138)12345678',
  ])('count %s as the same phone', async (spelling) => {
    const asker = await phones.asker('demo', { phone: '13812345678', address: '192.0.2.1' });
    const { body } = await phones.send(asker, 'register');
    expect((await phones.send({ ...asker, phone: spelling }, 'register')).body.captchaId).toBe(body.captchaId);
    expect(phones.sms.messages.filter(({ phone }) => phone === '13812345678')).toHaveLength(1);
  });

  it.each(['12345', 'abc', '+86138', '13800000000 ext. 5', '+86+8613800000000', '+'])('refuse %s', async (phone) => {
    const asker = await phones.asker('demo', { phone });
    expect(await phones.send(asker, 'login')).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
  });

  it.each([
    { phone: 1 },
    { phone: null },
    { scene: 'other' },
    { scene: ['login'] },
    { scene: '__proto__' },
    { deviceId: 'a b' },
    { uid: '1' },
  ])('refuse %j', async (wrong) => {
    const asker = await phones.asker('demo');
    expect(await phones.send(asker, 'login', wrong)).toMatchObject({
      status: 400,
      body: { code: 'VALIDATION_FAILED' },
    });
  });

  it('send one message however many come at once', async () => {
    const asker = await phones.asker('demo');
    const answers = await Promise.all(Array.from({ length: 100 }, () => phones.send(asker, 'login')));
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.captchaId}`)).size).toBe(1);
    expect(phones.sms.messages.filter(({ phone }) => phone === asker.phone)).toHaveLength(1);
  });

  it('are answered with the same code for a client that changed networks, and for nobody else', async () => {
    const asker = await phones.asker('demo');
    const { captchaId, code } = await phones.code(asker, 'login');
    const moved = { ...asker, address: newAddress() };
    expect((await phones.send(moved, 'login')).body.captchaId).toBe(captchaId);
    expect(phones.sms.messages.filter(({ phone }) => phone === asker.phone)).toHaveLength(1);
    const stranger = await phones.asker('demo', { phone: asker.phone });
    expect(await phones.send(stranger, 'login')).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED' } });
    expect((await phones.verify(captchaId, code)).status).toBe(200);
  });

  it('are five an hour for a phone and scene, two of them from one address', async () => {
    const asker = await phones.asker('demo');
    const from = async (address: string): Promise<number> => {
      const { status } = await phones.send({ ...asker, address }, 'reset');
      await phones.aMinuteLater();
      return status;
    };
    const stranger = '198.51.100.7';
    expect([await from(stranger), await from(stranger), await from(stranger)]).toEqual([200, 200, 429]);
    // What a stranger has used up is his part alone.
    expect([await from('198.51.100.8'), await from('198.51.100.9'), await from('198.51.100.10')]).toEqual([
      200, 200, 200,
    ]);
    const refused = await phones.send({ ...asker, address: '198.51.100.11' }, 'reset');
    expect(refused).toMatchObject({ status: 429, body: { code: 'RATE_LIMITED', retryable: true } });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(3_000);
    // Another scene and another tenant have their own.
    expect((await phones.send(asker, 'login')).status).toBe(200);
    const rival = await phones.asker('rival', { phone: asker.phone });
    expect((await phones.send(rival, 'reset')).status).toBe(200);
  });

  it('stay five an hour although Redis has forgotten them', async () => {
    const phone = newPhone();
    const statuses: number[] = [];
    for (let round = 0; round < 6; round += 1) {
      statuses.push((await phones.send(await phones.asker('demo', { phone }), 'login')).status);
      await phones.forget();
    }
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
  });

  it('heal a counter that has no end', async () => {
    const asker = await phones.asker('demo');
    await phones.send(asker, 'login');
    await phones.aMinuteLater();
    for (const key of await phones.keys('captcha:quota')) await phones.redis.multi().del(key).set(key, '99').exec();
    expect((await phones.send(asker, 'login')).status).toBe(200);
    expect((await phones.endless()).filter((key) => key.includes(':captcha:'))).not.toContainEqual(
      expect.stringContaining('active'),
    );
  });

  it('are not taken for registration where the tenant makes its accounts itself', async () => {
    const asker = await phones.asker('closed');
    expect((await phones.send(asker, 'register')).body.code).toBe('FORBIDDEN');
    expect((await phones.send(asker, 'login')).status).toBe(200);
  });

  it('are bounded by device', async () => {
    const loginToken = await phones.world.loginToken('demo');
    const address = newAddress();
    const statuses: number[] = [];
    for (let n = 0; n < 11; n += 1) {
      const asker = await phones.asker('demo', { address, loginToken });
      statuses.push((await phones.send(asker, 'login', { deviceId: 'device-1' })).status);
    }
    expect(statuses).toEqual([...Array<number>(10).fill(200), 429]);
  });
});

describe('when the message cannot be sent', () => {
  const refuse = async (address = newAddress()): Promise<number> => {
    phones.sms.next(200, { Code: 'isv.MOBILE_NUMBER_ILLEGAL', Message: 'no', RequestId: '1' });
    return (await phones.send(await phones.asker('small', { address }), 'login')).status;
  };

  it("nothing of the tenant's day is used up: a stranger cannot end it by numbers that are none", async () => {
    for (let round = 0; round < 6; round += 1) expect(await refuse()).toBe(400);
    const sent = async (): Promise<number> => (await phones.send(await phones.asker('small'), 'login')).status;
    expect([await sent(), await sent(), await sent()]).toEqual([200, 200, 429]);
    for (const key of await phones.keys('captcha_day')) expect(await phones.redis.ttl(key)).toBeGreaterThan(80_000);
    for (const key of await phones.keys('captcha_day')) await phones.redis.del(key);
  });

  it('the address that asked is counted all the same: refusals cost calls of the provider', async () => {
    const [address, calls] = [newAddress(), phones.sms.calls.length];
    const statuses: number[] = [];
    for (let round = 0; round < 4; round += 1) statuses.push(await refuse(address));
    const over = await phones.send(await phones.asker('small', { address }), 'login');
    expect([...statuses, over.status]).toEqual([400, 400, 400, 400, 429]);
    expect(phones.sms.calls.length - calls).toBe(4);
  });

  it.each([
    ['isv.MOBILE_NUMBER_ILLEGAL', 400, 'VALIDATION_FAILED'],
    ['isv.BUSINESS_LIMIT_CONTROL', 429, 'RATE_LIMITED'],
    ['isv.AMOUNT_NOT_ENOUGH', 503, 'OVERLOADED'],
    ['isp.SYSTEM_ERROR', 503, 'OVERLOADED'],
  ])('for %s it says so and gives the quota back', async (error, status, code) => {
    const asker = await phones.asker('demo');
    for (let round = 0; round < 4; round += 1) {
      phones.sms.next(200, { Code: error, Message: 'no', RequestId: '1' });
      const answer = await phones.send(asker, 'login');
      expect(answer).toMatchObject({ status, body: { code } });
      expect(JSON.stringify(answer.body)).not.toContain('isv');
    }
    const { captchaId, code: right } = await phones.code(asker, 'login');
    expect((await phones.verify(captchaId, right)).status).toBe(200);
  });

  it('an earlier code stays good', async () => {
    const asker = await phones.asker('demo');
    const first = await phones.code(asker, 'login');
    await phones.aMinuteLater();
    phones.sms.next(200, { Code: 'isp.SYSTEM_ERROR', Message: 'no', RequestId: '1' });
    expect((await phones.send(asker, 'login')).status).toBe(503);
    expect((await phones.verify(first.captchaId, first.code)).status).toBe(200);
  });

  it('and nobody knows: the code is good, it counts, and nothing is sent twice', async () => {
    const asker = await phones.asker('demo');
    phones.sms.nextIsSilent();
    const { status, body } = await phones.send(asker, 'login');
    expect(status).toBe(200);
    expect((await phones.send(asker, 'login')).body.captchaId).toBe(body.captchaId);
    expect(phones.sms.messages.filter(({ phone }) => phone === asker.phone)).toHaveLength(1);
    expect((await phones.verify(body.captchaId, phones.sms.codeFor(asker.phone))).status).toBe(200);
  });
});
