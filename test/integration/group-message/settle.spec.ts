import type { AdmitReply, Claimant, Settlement } from '../../../src/modules/group-message/group-message.redis.js';
import { asUserId, type Topic } from '../../../src/platform/ids/ids.js';
import { PipelineWorld, TENANT, type PipelineNode } from '../../support/pipeline.js';
import { claimant, countingTopic, CREATED_AT, DEADLINE_MS, LIVES, parseClaim } from './claims.js';

let world: PipelineWorld;
let node: PipelineNode;

beforeAll(async () => {
  world = await PipelineWorld.open();
  node = await world.node();
});
afterAll(() => world.close());

const DONE = { status: 'done', seq: 1, messageId: '77', createdAt: CREATED_AT } as const;

async function admitted(who: Claimant): Promise<Extract<AdmitReply, { status: 'ADMITTED' }>> {
  const reply = await node.redis.admit(who, DEADLINE_MS, LIVES);
  if (reply.status !== 'ADMITTED') throw new Error(reply.status);
  return reply;
}

const settle = (who: Claimant, settlement: Settlement): Promise<number | null> =>
  node.redis.settle(who, settlement, LIVES);

async function claimOf(topic: Topic): Promise<Record<string, unknown> & { ttl: number }> {
  const key = world.claimKey(topic, asUserId('2'), 'm');
  return { ...parseClaim(await world.client.get(key)), ttl: await world.client.ttl(key) };
}

const inFlight = async (topic: Topic): Promise<unknown[]> => {
  const { lastSeq, inflight, deadlines } = world.keys(topic);
  return [
    await world.client.zrange(inflight, '0', '-1'),
    await world.client.zrange(deadlines, '0', '-1'),
    await world.client.hget(lastSeq, 'entries'),
  ];
};

describe('settle', () => {
  it('takes a stored number out of flight and keeps the claim for a day', async () => {
    const topic = await countingTopic(world, node);
    const { epoch } = await admitted(claimant(topic));
    await admitted(claimant(topic, 'other'));
    expect(await settle(claimant(topic), { epoch, release: 1, claim: DONE })).toBe(1);
    expect(await inFlight(topic)).toEqual([['2'], ['2'], '1']);
    const claim = await claimOf(topic);
    expect(claim).toMatchObject({ status: 'done', seq: '1', messageId: '77', createdAt: CREATED_AT, digest: 'aa' });
    expect(claim.ttl).toBeGreaterThan(86_000);
  });

  it('answers how far the topic is stable: below the lowest number in flight, else the counter', async () => {
    const topic = await countingTopic(world, node);
    const { epoch } = await admitted(claimant(topic));
    await admitted(claimant(topic, 'b'));
    await admitted(claimant(topic, 'c'));
    expect(await settle(claimant(topic, 'b'), { epoch, release: 2, claim: null })).toBe(0);
    expect(await settle(claimant(topic), { epoch, release: 1, claim: null })).toBe(2);
    expect(await settle(claimant(topic, 'c'), { epoch, release: 3, claim: null })).toBe(3);
  });

  it('twice does no harm', async () => {
    const topic = await countingTopic(world, node);
    const { epoch } = await admitted(claimant(topic));
    for (const _ of [1, 2]) expect(await settle(claimant(topic), { epoch, release: 1, claim: DONE })).toBe(1);
    expect(await inFlight(topic)).toEqual([[], [], '0']);
  });

  it('leaves the number in flight while nobody knows what it holds', async () => {
    const topic = await countingTopic(world, node);
    const { epoch } = await admitted(claimant(topic));
    expect(await settle(claimant(topic), { epoch, release: null, claim: { status: 'failed' } })).toBe(0);
    expect(await inFlight(topic)).toEqual([['1'], ['1'], '1']);
  });

  it('does not touch the numbers of another epoch, but writes the claim', async () => {
    const topic = await countingTopic(world, node);
    const { epoch } = await admitted(claimant(topic));
    await node.rebases.rebase(TENANT, topic, 'expired', epoch);
    await admitted(claimant(topic, 'other'));
    const before = await inFlight(topic);
    expect(await settle(claimant(topic), { epoch, release: 2, claim: DONE })).toBeNull();
    expect(await inFlight(topic)).toEqual(before);
    expect(await claimOf(topic)).toMatchObject({ status: 'done', seq: '1' });
  });

  it('lets only its owner write "failed", for a short time, and never over a stored message', async () => {
    const topic = await countingTopic(world, node);
    const { epoch } = await admitted(claimant(topic));
    const failed = { epoch, release: null, claim: { status: 'failed' } } as const;
    await settle(claimant(topic, 'm', 'two'), failed);
    expect(await claimOf(topic)).toMatchObject({ status: 'pending', owner: 'one' });
    await settle(claimant(topic), failed);
    const claim = await claimOf(topic);
    expect(claim).toMatchObject({ status: 'failed', owner: 'one' });
    expect(claim.ttl).toBeLessThanOrEqual(600);
    await settle(claimant(topic, 'm', 'two'), { epoch, release: 1, claim: DONE });
    await settle(claimant(topic, 'm', 'two'), failed);
    expect(await claimOf(topic)).toMatchObject({ status: 'done', seq: '1' });
  });

  it('leaves the claim as it is when it is told so', async () => {
    const topic = await countingTopic(world, node);
    const { epoch } = await admitted(claimant(topic));
    await settle(claimant(topic), { epoch, release: 1, claim: null });
    expect(await claimOf(topic)).toMatchObject({ status: 'pending', seq: '1' });
  });
});

describe('head', () => {
  it('ends below the lowest number in flight', async () => {
    const topic = await countingTopic(world, node);
    expect(await node.redis.head(TENANT, topic)).toEqual({
      status: 'HEAD',
      stableSeq: 0,
      lastSeq: 0,
      expiredEpoch: null,
    });
    const { epoch } = await admitted(claimant(topic));
    await admitted(claimant(topic, 'b'));
    expect(await node.redis.head(TENANT, topic)).toMatchObject({ stableSeq: 0, lastSeq: 2 });
    await settle(claimant(topic), { epoch, release: 1, claim: DONE });
    expect(await node.redis.head(TENANT, topic)).toMatchObject({ stableSeq: 1, lastSeq: 2 });
  });
});

describe('inspect and raise', () => {
  it('say what the server holds, and go on in a higher epoch only', async () => {
    const topic = await world.group();
    const missing = await node.redis.inspect(TENANT, topic);
    expect(missing).toMatchObject({ doubt: 'missing', epoch: -1, seq: 0 });
    const { runId } = missing;
    expect(runId).toMatch(/^[0-9a-f]{40}$/);
    expect(await node.redis.raise(TENANT, topic, { runId, epoch: 5, seq: 40 })).toBe('RAISED');
    expect(await node.redis.inspect(TENANT, topic)).toEqual({ runId, doubt: null, epoch: 5, seq: 40 });
    expect(await node.redis.raise(TENANT, topic, { runId, epoch: 5, seq: 10 })).toBe('KEPT');
    expect(await node.redis.raise(TENANT, topic, { runId, epoch: 4, seq: 90 })).toBe('KEPT');
    expect(await node.redis.raise(TENANT, topic, { runId: 'f'.repeat(40), epoch: 6, seq: 90 })).toBe('OTHER_SERVER');
    expect(await node.redis.inspect(TENANT, topic)).toEqual({ runId, doubt: null, epoch: 5, seq: 40 });
  });

  it('clear what was in flight', async () => {
    const topic = await countingTopic(world, node);
    const { epoch } = await admitted(claimant(topic));
    const { runId } = await node.redis.inspect(TENANT, topic);
    await node.redis.raise(TENANT, topic, { runId, epoch: epoch + 1, seq: 9 });
    expect(await inFlight(topic)).toEqual([[], [], '0']);
    expect(await node.redis.head(TENANT, topic)).toMatchObject({ status: 'HEAD', stableSeq: 9, lastSeq: 9 });
  });
});
