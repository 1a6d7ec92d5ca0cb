import type { AdmitReply, Claimant } from '../../../src/modules/group-message/group-message.redis.js';
import { asTopic, asUserId, type Topic } from '../../../src/platform/ids/ids.js';
import { PipelineWorld, TENANT, type PipelineNode } from '../../support/pipeline.js';
import { claimant, countingTopic, CREATED_AT, DEADLINE_MS, LIVES, parseClaim } from './claims.js';

let world: PipelineWorld;
let node: PipelineNode;

beforeAll(async () => {
  world = await PipelineWorld.open();
  node = await world.node();
});
afterAll(() => world.close());

const admit = (who: Claimant): Promise<AdmitReply> => node.redis.admit(who, DEADLINE_MS, LIVES);
const load = (topic: Topic, uid = '2'): Promise<unknown> => node.groups.loadAccess(TENANT, topic, asUserId(uid));
const claimOf = async (topic: Topic, id = 'm'): Promise<Record<string, string> | null> =>
  parseClaim(await world.client.get(world.claimKey(topic, asUserId('2'), id)));

/** Makes the stored permission of a member other than it was loaded. */
async function rewrite(topic: Topic, field: string, change: (parts: string[]) => void): Promise<void> {
  const { access } = world.keys(topic);
  const parts = ((await world.client.hget(access, field)) ?? '').split('|');
  change(parts);
  await world.client.hset(access, field, parts.join('|'));
}

describe('a fresh send', () => {
  it('gets the next number, a claim and a place in flight', async () => {
    const topic = await countingTopic(world, node);
    const { lastSeq, inflight, deadlines } = world.keys(topic);
    const epoch = await world.epoch(topic);
    const before = Date.now();
    expect(await admit(claimant(topic, 'a'))).toMatchObject({
      status: 'ADMITTED',
      seq: 1,
      epoch,
      aclVersion: 0,
      takenOver: false,
    });
    expect(await admit(claimant(topic, 'b'))).toMatchObject({ status: 'ADMITTED', seq: 2, epoch });
    expect(await world.client.hgetall(lastSeq)).toMatchObject({ seq: '2', entries: '2', epoch: String(epoch) });
    expect(await world.client.zrange(inflight, '0', '-1')).toEqual(['1', '2']);
    const deadline = Number(await world.client.zscore(deadlines, '1'));
    expect(deadline).toBeGreaterThanOrEqual(before + DEADLINE_MS - 1_000);
    expect(deadline).toBeLessThanOrEqual(Date.now() + DEADLINE_MS + 1_000);
    expect(await claimOf(topic, 'b')).toEqual({
      status: 'pending',
      owner: 'one',
      seq: '2',
      epoch: String(epoch),
      messageId: '',
      digest: 'aa',
      createdAt: CREATED_AT,
    });
    const ttl = await world.client.ttl(world.claimKey(topic, asUserId('2'), 'b'));
    expect(ttl).toBeGreaterThan(110);
    expect(ttl).toBeLessThanOrEqual(120);
    expect(await world.client.ttl(lastSeq)).toBe(-1);
  });

  it('keeps ids apart that differ in case, and senders with the same id', async () => {
    const topic = await countingTopic(world, node);
    const replies = [claimant(topic, 'aB3x'), claimant(topic, 'Ab3X'), claimant(topic, 'aB3x', 'one', 'aa', '1')];
    for (const [index, who] of replies.entries()) expect(await admit(who)).toMatchObject({ seq: index + 1 });
  });
});

describe('permission', () => {
  it('is asked for when it is not cached, too old, or was cached on another server', async () => {
    const topic = await countingTopic(world, node);
    const { access } = world.keys(topic);
    expect(await admit(claimant(topic, 'm', 'one', 'aa', '9'))).toEqual({ status: 'NEEDS_ACCESS' });
    await rewrite(topic, '2', (parts) => (parts[4] = String(Date.now() - 301_000)));
    expect(await admit(claimant(topic))).toEqual({ status: 'NEEDS_ACCESS' });
    await load(topic);
    await rewrite(topic, '#', (parts) => (parts[3] = String(Date.now() - 301_000)));
    expect(await admit(claimant(topic))).toEqual({ status: 'NEEDS_ACCESS' });
    await load(topic);
    await rewrite(topic, '#', (parts) => (parts[4] = 'f'.repeat(40)));
    expect(await admit(claimant(topic))).toEqual({ status: 'NEEDS_ACCESS' });
    await world.client.del(access);
    await load(topic);
    expect(await admit(claimant(topic))).toMatchObject({ status: 'ADMITTED', seq: 1 });
  });

  it('refuses outsiders, the muted, and everybody in a group that is dismissed or not there', async () => {
    const topic = await countingTopic(world, node, 3);
    await load(topic, '9');
    expect(await admit(claimant(topic, 'm', 'one', 'aa', '9'))).toEqual({ status: 'NOT_MEMBER' });
    const until = Date.now() + 60_000;
    await world.changeMember(topic, asUserId('2'), 'muted_until', new Date(until));
    await world.client.del(world.keys(topic).access);
    await load(topic);
    expect(await admit(claimant(topic))).toEqual({ status: 'MUTED', untilMs: until });
    await world.sql('UPDATE im_group_settings SET mute_all = 1 WHERE group_id = ?', [topic.slice(4)]);
    await world.changeMember(topic, asUserId('3'), 'role', 'admin');
    await world.changeMember(topic, asUserId('2'), 'muted_until', null);
    await world.client.del(world.keys(topic).access);
    for (const uid of ['1', '2', '3']) await load(topic, uid);
    expect(await admit(claimant(topic))).toEqual({ status: 'MUTED', untilMs: 0 });
    expect(await admit(claimant(topic, 'm', 'one', 'aa', '3'))).toMatchObject({ status: 'ADMITTED' });
    expect(await admit(claimant(topic, 'm', 'one', 'aa', '1'))).toMatchObject({ status: 'ADMITTED' });
    await world.sql("UPDATE im_groups SET state = 'dismissed' WHERE id = ?", [topic.slice(4)]);
    await world.client.del(world.keys(topic).access);
    await load(topic);
    expect(await admit(claimant(topic))).toEqual({ status: 'DISMISSED' });
    const nowhere = asTopic('grp_987654321');
    await load(nowhere);
    expect(await admit(claimant(nowhere))).toEqual({ status: 'NO_GROUP' });
  });

  it('ends a mute by the clock of Redis, without a reload', async () => {
    const topic = await countingTopic(world, node);
    await rewrite(topic, '2', (parts) => (parts[1] = String(Date.now() - 5_000)));
    expect(await admit(claimant(topic))).toMatchObject({ status: 'ADMITTED' });
  });
});

describe('doubt', () => {
  it.each([
    ['missing', (topic: Topic) => world.client.del(world.keys(topic).lastSeq)],
    ['missing', (topic: Topic) => world.client.hdel(world.keys(topic).lastSeq, 'seq')],
    ['run_id', (topic: Topic) => world.client.hset(world.keys(topic).lastSeq, 'run_id', 'f'.repeat(40))],
    ['entries', (topic: Topic) => world.client.del(world.keys(topic).inflight)],
    ['entries', (topic: Topic) => world.client.del(world.keys(topic).deadlines)],
    ['expired', (topic: Topic) => world.expire(topic)],
  ])('%s', async (doubt, damage) => {
    const topic = await countingTopic(world, node);
    const epoch = await world.epoch(topic);
    await admit(claimant(topic, 'earlier'));
    await damage(topic);
    const reply = { status: 'NEEDS_REBASE', doubt, epoch: doubt === 'missing' ? -1 : epoch };
    expect(await admit(claimant(topic))).toEqual(reply);
    // Nothing was claimed and nothing numbered.
    expect(await claimOf(topic)).toBeNull();
    expect(await node.redis.head(TENANT, topic)).toMatchObject(
      doubt === 'expired' ? { status: 'HEAD', lastSeq: 1, expiredEpoch: epoch } : { status: 'DOUBT', doubt },
    );
  });
});

describe('the order of the checks', () => {
  const done = async (topic: Topic): Promise<void> => {
    const { seq, epoch } = (await admit(claimant(topic))) as Extract<AdmitReply, { status: 'ADMITTED' }>;
    const claim = { status: 'done', seq, messageId: '77', createdAt: CREATED_AT } as const;
    await node.redis.settle(claimant(topic), { epoch, release: seq, claim }, LIVES);
  };
  const mute = async (topic: Topic): Promise<void> =>
    rewrite(topic, '2', (parts) => (parts[1] = String(Date.now() + 60_000)));

  it('answers a stored message although its sender is muted, the counter lost and the permission unknown', async () => {
    const topic = await countingTopic(world, node);
    await done(topic);
    await mute(topic);
    const { lastSeq, access } = world.keys(topic);
    const answer = { status: 'DONE', seq: 1, messageId: '77', createdAt: CREATED_AT };
    expect(await admit(claimant(topic, 'm', 'two'))).toEqual(answer);
    await world.client.del(lastSeq, access);
    expect(await admit(claimant(topic, 'm', 'two'))).toEqual(answer);
  });

  it('looks at the permission before the counter, and at the counter before the claim', async () => {
    const topic = await countingTopic(world, node);
    await done(topic);
    const other = claimant(topic, 'm', 'two', 'bb');
    await mute(topic);
    await world.client.del(world.keys(topic).lastSeq);
    expect(await admit(other)).toMatchObject({ status: 'MUTED' });
    await load(topic);
    expect(await admit(other)).toMatchObject({ status: 'NEEDS_REBASE' });
    await node.rebases.rebase(TENANT, topic, 'missing', -1);
    expect(await admit(other)).toEqual({ status: 'CONFLICT' });
  });
});

describe('a claim that is there already', () => {
  const fresh = (topic: Topic, owner: string, digest = 'aa'): Promise<AdmitReply> =>
    admit(claimant(topic, 'm', owner, digest));

  it('pending and alive: it is waited for; another body is refused; its own attempt goes on under a new number', async () => {
    const topic = await countingTopic(world, node);
    await fresh(topic, 'one');
    expect(await fresh(topic, 'two')).toEqual({ status: 'PENDING', seq: 1 });
    expect(await fresh(topic, 'two', 'bb')).toEqual({ status: 'CONFLICT' });
    expect(await fresh(topic, 'one')).toMatchObject({ status: 'ADMITTED', seq: 2, takenOver: false });
  });

  it('pending with a number that is no longer in flight: taken over', async () => {
    const topic = await countingTopic(world, node);
    const { epoch } = (await fresh(topic, 'one')) as { epoch: number };
    await node.redis.settle(claimant(topic), { epoch, release: 1, claim: null }, LIVES);
    expect(await fresh(topic, 'two')).toMatchObject({ status: 'ADMITTED', seq: 2, takenOver: true });
  });

  it('pending in an epoch that is over: taken over, also when its number is in flight again for somebody else', async () => {
    const topic = await countingTopic(world, node);
    const { epoch } = (await fresh(topic, 'one')) as { epoch: number };
    await node.rebases.rebase(TENANT, topic, 'expired', epoch);
    // A counter that went back gives the same number out once more.
    await world.client.hset(world.keys(topic).lastSeq, 'seq', 0);
    expect(await admit(claimant(topic, 'other'))).toMatchObject({ status: 'ADMITTED', seq: 1, epoch: epoch + 1 });
    expect(await fresh(topic, 'two')).toMatchObject({ status: 'ADMITTED', takenOver: true, epoch: epoch + 1 });
  });

  it('failed: taken over, also with another body', async () => {
    const topic = await countingTopic(world, node);
    const { epoch } = (await fresh(topic, 'one')) as { epoch: number };
    await node.redis.settle(claimant(topic), { epoch, release: null, claim: { status: 'failed' } }, LIVES);
    expect(await fresh(topic, 'two', 'bb')).toMatchObject({ status: 'ADMITTED', seq: 2, takenOver: true });
  });

  it('unreadable: as if it were not there', async () => {
    const topic = await countingTopic(world, node);
    await world.client.set(world.claimKey(topic, asUserId('2'), 'm'), 'not a claim');
    expect(await fresh(topic, 'one')).toMatchObject({ status: 'ADMITTED', seq: 1, takenOver: false });
  });
});
