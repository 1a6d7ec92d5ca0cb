import * as fc from 'fast-check';
import { asTenantId, asUserId, type UserId } from '../../../src/platform/ids/ids.js';
import { PresenceRedis } from '../../../src/modules/presence/presence.redis.js';
import { SessionRedis } from '../../../src/modules/presence/session.redis.js';
import { RedisKeys } from '../../../src/platform/redis/keys.js';
import { RedisScripts } from '../../../src/platform/redis/redis-scripts.js';
import { PresenceRig } from '../../support/presence.js';
import { Stage } from '../../support/stage.js';

const NODES = ['n1', 'n2', 'n3'];
const SESSIONS = ['s1', 's2', 's3', 's4'];
/** A case that took longer may have seen a grace end, which the model does not. */
const GRACE_LEFT_MS = 4_000;

let stage: Stage;
let rig: PresenceRig;
let redis: SessionRedis;
let application: Awaited<ReturnType<Stage['inProcess']>>['application'];
let tenantId: string;
let users = 0;

beforeAll(async () => {
  stage = await Stage.open();
  tenantId = await stage.tenant('demo', ['alice']);
  rig = await PresenceRig.open(stage, tenantId);
  ({ application } = await stage.inProcess());
  redis = application.nest.get(SessionRedis, { strict: false });
}, 60_000);
afterAll(async () => {
  rig.close();
  await stage.close();
});

const newUser = (): UserId => asUserId(String((users += 1) + 1_000_000));
const infoOf = (id: string, node: string) => ({ id, node, device: 'web', ua: 'test', sinceMs: 1 });

/** What the three keys of a user must say, whatever the order of calls. */
class Model {
  readonly sessions = new Map<string, string>();
  told: 'nobody' | 'online' | 'offline' = 'nobody';
  inGrace = false;

  get isOnline(): boolean {
    return this.sessions.size > 0 || (this.told === 'online' && this.inGrace);
  }

  online(session: string, node: string): boolean {
    const announce = this.told !== 'online' || !this.isOnline;
    this.sessions.set(session, node);
    this.told = 'online';
    this.inGrace = false;
    return announce;
  }

  offline(session: string): string {
    const removed = this.sessions.delete(session);
    if (this.sessions.size > 0) return 'others';
    if (removed) this.inGrace = true;
    return removed || this.told === 'online' ? 'last' : 'offline';
  }

  settle(grace: boolean): string {
    if (this.sessions.size > 0) return 'online';
    if (grace && this.inGrace) return 'grace';
    this.told = 'offline';
    return 'offline';
  }

  reap(node: string): string {
    for (const [session, on] of this.sessions) if (on === node) this.sessions.delete(session);
    return this.settle(true);
  }

  refresh(sessions: readonly string[]): string[] {
    return sessions.filter((session) => this.told !== 'online' || !this.sessions.has(session));
  }
}

interface Pair {
  readonly model: Model;
  readonly uid: UserId;
  versions: number[];
}

type Call = (pair: Pair) => Promise<void>;
const node = fc.constantFrom(...NODES);
const session = fc.constantFrom(...SESSIONS);
const tenant = () => asTenantId(tenantId);

const named = (name: string, call: Call): Call => Object.assign(call, { toString: () => name });
const calls = fc.oneof(
  {
    arbitrary: fc.tuple(session, node).map(([id, on]) =>
      named(`online ${id} ${on}`, async ({ model, uid, versions }) => {
        const marked = await redis.markOnline(tenant(), uid, infoOf(id, on));
        expect(marked.announce).toBe(model.online(id, on));
        if (marked.announce) versions.push(marked.version);
      }),
    ),
    weight: 4,
  },
  {
    arbitrary: session.map((id) =>
      named(`offline ${id}`, async ({ model, uid }) => {
        expect(await redis.markOffline(tenant(), uid, id)).toBe(model.offline(id));
      }),
    ),
    weight: 4,
  },
  {
    arbitrary: fc.boolean().map((grace) =>
      named(`settle ${grace}`, async ({ model, uid, versions }) => {
        const toldBefore = model.told;
        const settled = await redis.settleOffline(tenant(), uid, grace ? undefined : 0);
        expect(settled.kind).toBe(model.settle(grace));
        if (settled.kind === 'offline' && toldBefore !== 'offline') versions.push(settled.version);
      }),
    ),
    weight: 2,
  },
  {
    arbitrary: node.map((on) =>
      named(`reap ${on}`, async ({ model, uid, versions }) => {
        const toldBefore = model.told;
        const settled = await redis.reap(tenant(), uid, on, Date.now());
        expect(settled.kind).toBe(model.reap(on));
        if (settled.kind === 'offline' && toldBefore !== 'offline') versions.push(settled.version);
      }),
    ),
    weight: 1,
  },
  {
    arbitrary: fc.uniqueArray(session, { minLength: 1 }).map((ids) =>
      named(`refresh ${ids.join()}`, async ({ model, uid }) => {
        expect(await redis.refresh(tenant(), uid, ids, 0)).toEqual(model.refresh(ids));
      }),
    ),
    weight: 2,
  },
);

describe('the presence scripts', () => {
  it('agree with a small model whatever comes late, twice, from whichever node', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(calls, { maxLength: 40 }), async (sequence) => {
        const pair: Pair = { model: new Model(), uid: newUser(), versions: [] };
        const startedMs = performance.now();
        for (const call of sequence) {
          await call(pair);
          fc.pre(performance.now() - startedMs < GRACE_LEFT_MS);
          const { model, uid } = pair;
          expect((await redis.read(tenant(), uid)).online).toBe(model.isOnline);
        }
        const state = await rig.state(pair.uid);
        expect((await rig.sessions(pair.uid)).sort()).toEqual([...pair.model.sessions.keys()].sort());
        if (pair.model.told !== 'nobody') {
          expect(state).toMatchObject({
            session_count: String(pair.model.sessions.size),
            online: pair.model.sessions.size > 0 ? '1' : '0',
            told: pair.model.told,
          });
        }
        // Each change that is told has a higher number than the one before.
        expect(pair.versions).toEqual([...new Set(pair.versions)].sort((a, b) => a - b));
      }),
      { numRuns: 120 },
    );
  }, 120_000);

  it.each(['presenceUser', 'presenceSessions', 'presenceSessionInfo'] as const)(
    'a lost %s is noticed by the next refresh, and marking online makes all of it whole',
    async (family) => {
      const uid = newUser();
      await redis.markOnline(tenant(), uid, infoOf('s1', 'n1'));
      await redis.markOnline(tenant(), uid, infoOf('s2', 'n1'));
      expect(await redis.refresh(tenant(), uid, ['s1', 's2'], 0)).toEqual([]);
      await rig.redis.del(rig.key(family, { uid }));
      expect(await redis.refresh(tenant(), uid, ['s1', 's2'], 0)).toEqual(['s1', 's2']);
      for (const id of ['s1', 's2']) await redis.markOnline(tenant(), uid, infoOf(id, 'n1'));
      expect(await redis.refresh(tenant(), uid, ['s1', 's2'], 0)).toEqual([]);
      expect(await rig.state(uid)).toMatchObject({ online: '1', session_count: '2', node_id: 'n1', told: 'online' });
    },
  );

  it('let every key end by itself', async () => {
    const uid = newUser();
    const ttls = () =>
      Promise.all(
        (['presenceUser', 'presenceSessions', 'presenceSessionInfo'] as const).map((family) =>
          rig.redis.pttl(rig.key(family, { uid })),
        ),
      );
    await redis.markOnline(tenant(), uid, infoOf('s1', 'n1'));
    for (const ttl of await ttls()) expect(ttl).toBeGreaterThan(100_000);
    await redis.markOffline(tenant(), uid, 's1');
    await redis.settleOffline(tenant(), uid, 0);
    // Redis has no empty sets; what is left ends, too.
    expect(await ttls()).toEqual([expect.any(Number), -2, -2]);
    expect((await ttls())[0]).toBeGreaterThan(0);
  });

  it('a session that is not refreshed ends alone, while another device lives on', async () => {
    const uid = newUser();
    await redis.markOnline(tenant(), uid, infoOf('old', 'n1'));
    await redis.markOnline(tenant(), uid, infoOf('new', 'n2'));
    await rig.redis.zadd(rig.key('presenceSessions', { uid }), 1, 'old');
    expect(await redis.refresh(tenant(), uid, ['new'], 77)).toEqual([]);
    expect(await rig.sessions(uid)).toEqual(['new']);
    expect((await rig.state(uid)).session_count).toBe('1');
    expect(await redis.refresh(tenant(), uid, ['old'], 0)).toEqual(['old']);
  });
});

it('presence becomes ready a while after the last loss, however many there were, and once', async () => {
  // Under a prefix that no node looks at by itself.
  const keys = new RedisKeys({ REDIS_KEY_PREFIX: `${stage.name}-alone` });
  const nodes = new PresenceRedis(keys, application.nest.get(RedisScripts, { strict: false }));
  const key = keys.of('presenceReady', {});
  const goOn = async (ms: number): Promise<void> => void (await rig.redis.decrby(key, ms));
  for (let loss = 0; loss < 2; loss += 1) {
    await rig.redis.del(key);
    expect(await nodes.becomeReady(60_000)).toBe(false);
    await goOn(50_000);
    expect(await nodes.becomeReady(60_000)).toBe(false);
    expect(await nodes.isReady()).toBe(false);
  }
  await goOn(10_000);
  expect([await nodes.becomeReady(60_000), await nodes.becomeReady(60_000)]).toEqual([true, false]);
  expect(await nodes.isReady()).toBe(true);
  await rig.redis.del(key);
});
