import { SessionService } from '../../../src/modules/auth/session.service.js';
import { asTenantId, asUserId } from '../../../src/platform/ids/ids.js';
import type { RestAnswer, TestNode, TestUser } from '../../support/stage.js';
import { PASSWORD } from '../../support/stage.js';
import { until } from '../../support/until.js';
import { newAddress, PhoneWorld, wrongCodes } from './phones.js';

/** Two nodes, and two tenants whose users and sessions have the same ids. */
let phones: PhoneWorld;
let nodes: TestNode[];
let ours: string;

beforeAll(async () => {
  phones = await PhoneWorld.open(async (stage) => {
    ours = await stage.tenant('ours', ['alice', 'bob'], { registration: 'open', loginProofAddresses: 3 });
    await stage.tenant('theirs', ['alice', 'bob'], { registration: 'open', loginProofAddresses: 3 });
  });
  const second = await phones.world.stage.inProcess({ ...phones.sms.settings, TRUSTED_PROXY_DEPTH: '1' });
  nodes = [phones.world.node, second];
}, 60_000);
afterAll(() => phones.close());

const post = (index: number, path: string, body: object, address = newAddress()): Promise<RestAnswer> =>
  phones.world.stage.call(nodes[index % 2], 'POST', `/v1/auth/${path}`, {
    body,
    headers: { 'x-forwarded-for': address },
  });
const atOnce = (count: number, call: (index: number) => Promise<RestAnswer>): Promise<RestAnswer[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => call(index)));
const withCode = (answers: readonly RestAnswer[], code: string): number =>
  answers.filter(({ body }) => body.code === code).length;

describe('on two nodes at once', () => {
  it('no more than five guesses of a code are compared', async () => {
    const { captchaId, code } = await phones.code(await phones.asker('ours'), 'login');
    const guesses = wrongCodes(code, 60);
    await atOnce(60, (index) => post(index, `captchas/${captchaId}/verify`, { code: guesses[index] }));
    expect((await phones.verify(captchaId, code)).body.code).toBe('CAPTCHA_LOCKED');
    const [row] = await phones.world.sql<{ attempts: number }>(
      'ours',
      'SELECT attempts FROM im_captchas WHERE id = ?',
      [captchaId.split('.')[1]],
    );
    expect(Number(row.attempts)).toBe(5);
  });

  it('a right code gives one action token, and that is good once', async () => {
    const asker = await phones.asker('ours');
    await phones.registered(asker, 'carol');
    await phones.aMinuteLater();
    const { captchaId, code } = await phones.code(asker, 'login');
    const verified = await atOnce(20, (index) => post(index, `captchas/${captchaId}/verify`, { code }));
    const right = verified.filter(({ status }) => status === 200);
    expect(right).toHaveLength(1);
    const { actionToken } = right[0].body;
    const logins = await atOnce(20, (index) => post(index, 'login', { loginToken: asker.loginToken, actionToken }));
    expect(logins.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(withCode(logins, 'TOKEN_USED')).toBe(19);
  });

  it('a proof is good for one guess', async () => {
    const loginToken = await phones.world.loginToken('ours');
    const guess = (index: number, proofToken?: string): Promise<RestAnswer> =>
      post(index, 'login', { loginToken, account: 'bob', password: `guess-${index}`, proofToken });
    for (let index = 0; index < 3; index += 1) expect((await guess(index)).body.code).toBe('UNAUTHENTICATED');
    const proofToken = await phones.actionToken(await phones.asker('ours'), 'login');
    const answers = await atOnce(20, (index) => guess(index, proofToken));
    expect(withCode(answers, 'UNAUTHENTICATED')).toBe(1);
    expect(withCode(answers, 'TOKEN_USED')).toBe(19);
    // Of somebody with the same name elsewhere nothing is asked.
    const theirs = await phones.world.loginToken('theirs');
    expect((await post(0, 'login', { loginToken: theirs, account: 'bob', password: PASSWORD })).status).toBe(200);
  });

  it('a refresh token has one successor', async () => {
    const { refreshToken } = await phones.world.login('theirs', 'bob');
    const answers = await atOnce(20, (index) => post(index, 'refresh', { refreshToken }));
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    expect(new Set(answers.map(({ body }) => body.refreshToken)).size).toBe(1);
  });
});

describe('a tenant with the same ids', () => {
  let mine: TestUser;
  let foreign: TestUser;
  const claims = (token: string): { sub: string; sid: string } =>
    JSON.parse(Buffer.from(token.split('.')[1], 'base64url').toString()) as { sub: string; sid: string };

  beforeAll(async () => {
    // Sessions until both have the same number, too.
    mine = await phones.world.login('ours', 'alice');
    foreign = await phones.world.login('theirs', 'alice');
    while (claims(mine.accessToken).sid !== claims(foreign.accessToken).sid) {
      const isBehind = Number(claims(mine.accessToken).sid) < Number(claims(foreign.accessToken).sid);
      if (isBehind) mine = await phones.world.login('ours', 'alice');
      else foreign = await phones.world.login('theirs', 'alice');
    }
    expect(claims(mine.accessToken).sub).toBe(claims(foreign.accessToken).sub);
  }, 60_000);

  it('does not renew, and its answers by one Idempotency-Key are its own', async () => {
    const client = await phones.world.stage.connect(nodes[0], mine);
    const renewed = await client.emit('session:renew', { token: foreign.accessToken });
    expect(renewed).toMatchObject({ ok: false, error: { code: 'UNAUTHENTICATED' } });
    expect(await client.emit('session:renew', { token: mine.accessToken })).toMatchObject({ ok: true });
    const make = (user: TestUser, name: string): Promise<RestAnswer> =>
      phones.world.stage.call(nodes[1], 'POST', '/v1/im/groups', {
        token: user.accessToken,
        body: { name },
        headers: { 'idempotency-key': 'same' },
      });
    expect((await make(mine, 'ours')).status).toBe(201);
    const theirs = await make(foreign, 'theirs');
    expect(theirs.status).toBe(201);
    expect(theirs.headers.get('idempotency-repeated')).toBeNull();
  });

  it('keeps its sockets and tokens when the namesake logs out everywhere', async () => {
    const { stage } = phones.world;
    const [own, other] = [await stage.connect(nodes[1], mine), await stage.connect(nodes[1], foreign)];
    const body = { all: true };
    expect((await stage.call(nodes[0], 'POST', '/v1/auth/logout', { token: mine.accessToken, body })).status).toBe(204);
    await until('the own socket is closed', () => !own.socket.connected);
    expect(other.socket.connected).toBe(true);
    expect(await other.emit('session:heartbeat', {})).toMatchObject({ ok: true });
    for (const node of nodes) {
      const me = (token: string) => stage.call(node, 'GET', '/v1/im/users/me', { token });
      expect((await me(mine.accessToken)).status).toBe(401);
      expect((await me(foreign.accessToken)).status).toBe(200);
    }
  });
});

it('a user who was switched off after his code was spent begins no session', async () => {
  const [row] = await phones.world.sql<{ id: string }>('ours', "SELECT id FROM im_users WHERE account = 'bob'");
  await phones.world.sql('ours', "UPDATE im_users SET status = 'disabled' WHERE account = 'bob'");
  const sessions = phones.world.get(SessionService);
  const began = sessions.open(asTenantId(ours), asUserId(String(row.id)), {});
  await expect(began).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
});
