import { CaptchaSecrets } from '../../../src/modules/captcha/captcha-secrets.js';
import { asTenantId, type TenantId } from '../../../src/platform/ids/ids.js';
import type { RestAnswer } from '../../support/stage.js';
import { newPhone, PhoneWorld } from './phones.js';

const CALLS = 40;

let phones: PhoneWorld;
let tenant: TenantId;

beforeAll(async () => {
  phones = await PhoneWorld.open(async (stage) => {
    const id = await stage.tenant('demo', ['alice'], { registration: 'open', smsPerAddressHourly: 10_000 });
    tenant = asTenantId(id);
  });
}, 60_000);
afterAll(() => phones.close());

interface Sample {
  readonly answer: string;
  readonly tookMs: number;
}

/** What an observer sees: everything but what is random in every answer. */
async function observe(call: () => Promise<RestAnswer<object>>): Promise<Sample> {
  const began = performance.now();
  const { status, headers, body } = await call();
  const tookMs = performance.now() - began;
  const told = { status, ...body, requestId: '', captchaId: '' };
  const names = [...headers.keys()].filter((name) => name !== 'date').sort();
  return { answer: JSON.stringify({ told, names, length: headers.get('content-length') }), tookMs };
}

const medianMs = (samples: readonly Sample[]): number =>
  samples.map(({ tookMs }) => tookMs).sort((a, b) => a - b)[Math.floor(samples.length / 2)];

/** Calls of both kinds in turn, so that whatever else the machine does falls on both. */
async function compare(
  known: (n: number) => Promise<RestAnswer<object>>,
  unknown: (n: number) => Promise<RestAnswer<object>>,
): Promise<void> {
  const samples: { known: Sample[]; unknown: Sample[] } = { known: [], unknown: [] };
  for (let n = 0; n < CALLS; n += 1) {
    samples.known.push(await observe(() => known(n)));
    samples.unknown.push(await observe(() => unknown(n)));
  }
  const answers = [...samples.known, ...samples.unknown].map(({ answer }) => answer);
  expect(new Set(answers).size).toBe(1);
  // An early return would make one kind many times quicker; noise of a busy machine does not.
  const ratio = medianMs(samples.known) / medianMs(samples.unknown);
  expect(ratio).toBeGreaterThan(0.4);
  expect(ratio).toBeLessThan(2.5);
}

describe('who is registered cannot be told', () => {
  it.each(['login', 'reset', 'register'] as const)(
    'by asking for a code to %s',
    async (scene) => {
      const known: string[] = [];
      for (let n = 0; n < CALLS; n += 1) known.push(newPhone());
      const hashes = phones.world.get(CaptchaSecrets);
      const rows = known.map((phone) => [`${scene}-${phone}`, phone, hashes.phoneHash(tenant, `+86${phone}`)]);
      await phones.world.sql('demo', 'INSERT INTO im_users (account, nickname, phone_hash) VALUES ?', [rows]);
      await compare(
        async (n) => phones.send(await phones.asker('demo', { phone: known[n] }), scene),
        async () => phones.send(await phones.asker('demo'), scene),
      );
    },
    120_000,
  );

  it('by logging in', async () => {
    const asker = await phones.asker('demo');
    const attempt = (account: string) => phones.login(asker, { account, password: 'wrong-pass-1' });
    for (let n = 0; n < CALLS; n += 1) await phones.registered(await phones.asker('demo'), `known-${n}`);
    await compare(
      (n) => attempt(`known-${n}`),
      (n) => attempt(`nobody-${n}`),
    );
  }, 180_000);
});
