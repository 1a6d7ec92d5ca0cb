import { NO_EPOCH } from '../../../src/modules/group-message/group-message.redis.js';
import { asUserId, type Topic } from '../../../src/platform/ids/ids.js';
import { actor, draft, PipelineWorld, TENANT, type PipelineNode } from '../../support/pipeline.js';
import { claimant, countingTopic, DEADLINE_MS, LIVES } from './claims.js';

let world: PipelineWorld;
let one: PipelineNode;
let two: PipelineNode;

beforeAll(async () => {
  world = await PipelineWorld.open();
  [one, two] = [await world.node(), await world.node()];
});
afterAll(() => world.close());
afterEach(() => {
  for (const { hooks } of [one, two])
    Object.assign(hooks, { script: undefined, statement: undefined, query: undefined });
});

const inspect = (topic: Topic): Promise<unknown> => one.redis.inspect(TENANT, topic);
const send = (node: PipelineNode, topic: Topic, id: string): Promise<{ seq: number }> =>
  node.sends.send(actor('2'), draft(topic, id));

describe('a rebase', () => {
  it('of a missing counter goes on above the highest stored number', async () => {
    const topic = await world.group();
    for (const id of ['a', 'b', 'c']) await send(one, topic, id);
    const epoch = await world.epoch(topic);
    await world.client.del(world.keys(topic).lastSeq);
    await one.rebases.rebase(TENANT, topic, 'missing', NO_EPOCH);
    expect(await inspect(topic)).toMatchObject({ doubt: null, epoch: epoch + 1, seq: 3 });
    expect(await world.epoch(topic)).toBe(epoch + 1);
  });

  it.each(['run_id', 'entries', 'expired'] as const)('of a counter in doubt (%s) ends its epoch', async (doubt) => {
    const topic = await countingTopic(world, one);
    const epoch = await world.epoch(topic);
    const { lastSeq, inflight } = world.keys(topic);
    await one.redis.admit(claimant(topic), DEADLINE_MS, LIVES);
    if (doubt === 'run_id') await world.client.hset(lastSeq, 'run_id', 'f'.repeat(40));
    else if (doubt === 'entries') await world.client.del(inflight);
    else await world.expire(topic);
    expect(await inspect(topic)).toMatchObject({ doubt });
    await one.rebases.rebase(TENANT, topic, doubt, epoch);
    // The number that was given out is void: heads never go back.
    expect(await inspect(topic)).toMatchObject({ doubt: null, epoch: epoch + 1, seq: 1 });
    expect(await world.rows(topic)).toMatchObject([{ seq: 1, status: 'void', clientMsgId: null, from: '0' }]);
  });

  it('has nothing left to do when the counter is sound and the doubted epoch is over', async () => {
    const topic = await countingTopic(world, one);
    const epoch = await world.epoch(topic);
    await one.rebases.rebase(TENANT, topic, 'expired', epoch - 1);
    await one.rebases.rebase(TENANT, topic, 'missing', NO_EPOCH);
    expect(await world.epoch(topic)).toBe(epoch);
  });

  it('of exactly the present epoch ends it, sound or not: somebody saw it give out a stored number', async () => {
    const topic = await countingTopic(world, one);
    const epoch = await world.epoch(topic);
    await one.rebases.rebase(TENANT, topic, 'seq-taken', epoch);
    expect(await inspect(topic)).toMatchObject({ doubt: null, epoch: epoch + 1 });
  });

  it('brings a counter forward whose epoch is older than that of MySQL, or newer', async () => {
    const older = await countingTopic(world, one);
    await world.sql('UPDATE im_topic_seq SET epoch = 9 WHERE topic = ?', [older]);
    expect(await send(one, older, 'a')).toMatchObject({ seq: 2 });
    expect(await inspect(older)).toMatchObject({ epoch: 10, doubt: null });
    // MySQL came back from a backup.
    const newer = await countingTopic(world, one);
    await world.client.hset(world.keys(newer).lastSeq, 'epoch', 30, 'seq', 12);
    expect(await send(one, newer, 'a')).toMatchObject({ seq: 14 });
    expect(await inspect(newer)).toMatchObject({ epoch: 31, doubt: null });
    expect(await world.epoch(newer)).toBe(31);
  });

  it('makes the row of a topic that has none', async () => {
    const topic = await world.group();
    await world.sql('DELETE FROM im_topic_seq WHERE topic = ?', [topic]);
    await one.rebases.rebase(TENANT, topic, 'missing', NO_EPOCH);
    expect(await world.epoch(topic)).toBe(1);
    expect(await inspect(topic)).toMatchObject({ epoch: 1, seq: 0 });
  });

  it('begins again when Redis is another server in the end', async () => {
    const topic = await world.group();
    let moved = 0;
    one.hooks.script = async (name, run) => {
      if (name !== 'raise' || (moved += 1) > 1) return run();
      return ['OTHER_SERVER'];
    };
    await one.rebases.rebase(TENANT, topic, 'missing', NO_EPOCH);
    expect(moved).toBe(2);
    expect(await inspect(topic)).toMatchObject({ doubt: null, epoch: 2 });
    expect(await world.epoch(topic)).toBe(2);
  });

  it('waits for a writer that is committing, so that nothing below its end is stored later', async () => {
    const topic = await countingTopic(world, one);
    let commit: () => void = () => undefined;
    const committing = new Promise<void>((resolve) => {
      one.hooks.statement = async (statement) => {
        if (statement.kind !== 'commit') return statement.run();
        const written = await statement.writeOnly();
        resolve();
        await new Promise<void>((go) => (commit = go));
        await statement.commitOnly();
        return written;
      };
    });
    const sent = send(one, topic, 'slow');
    await committing;
    one.hooks.statement = undefined;
    const rebased = two.rebases.rebase(TENANT, topic, 'expired', await world.epoch(topic));
    commit();
    expect(await sent).toMatchObject({ seq: 1 });
    await rebased;
    expect(await two.redis.inspect(TENANT, topic)).toMatchObject({ seq: 1, doubt: null });
    expect(await world.rows(topic)).toMatchObject([{ seq: 1, clientMsgId: 'slow' }]);
  });

  it('is single-flight in a node', async () => {
    const topic = await world.group();
    await Promise.all(Array.from({ length: 20 }, () => one.rebases.rebase(TENANT, topic, 'missing', NO_EPOCH)));
    expect(await world.epoch(topic)).toBe(1);
  });

  it('of a newer epoch is not taken for done because an older one is being ended', async () => {
    const topic = await countingTopic(world, one);
    const epoch = await world.epoch(topic);
    const older = one.rebases.rebase(TENANT, topic, 'expired', epoch - 1);
    const newer = one.rebases.rebase(TENANT, topic, 'seq-taken', epoch);
    await Promise.all([older, newer]);
    expect(await world.epoch(topic)).toBe(epoch + 1);
    expect(await inspect(topic)).toMatchObject({ doubt: null, epoch: epoch + 1 });
  });

  it('of two nodes at once ends in one counter in the newest epoch', async () => {
    for (let round = 0; round < 5; round += 1) {
      const topic = await world.group();
      await Promise.all([one, two].map((node) => node.rebases.rebase(TENANT, topic, 'missing', NO_EPOCH)));
      const epoch = await world.epoch(topic);
      expect([1, 2]).toContain(epoch);
      expect(await inspect(topic)).toMatchObject({ epoch, doubt: null });
    }
  });
});

describe('a reader of a quiet topic', () => {
  it.each(['missing', 'run_id', 'entries', 'expired'])('starts the rebase (%s)', async (doubt) => {
    const topic = await world.group();
    await send(one, topic, 'a');
    const { lastSeq, inflight, deadlines } = world.keys(topic);
    await one.redis.admit(claimant(topic, 'dead'), DEADLINE_MS, LIVES);
    if (doubt === 'missing') await world.client.del(lastSeq);
    else if (doubt === 'run_id') await world.client.hset(lastSeq, 'run_id', 'f'.repeat(40));
    else if (doubt === 'entries') await world.client.del(inflight, deadlines);
    else await world.expire(topic);
    const epoch = await world.epoch(topic);
    // A node that knows nothing of the topic calls nothing stable; it says what is stored all the same.
    const page = await two.history.page(actor('1'), topic, { afterSeq: 0 as never, limit: 10 });
    expect(page).toMatchObject({ stableSeq: doubt === 'expired' ? 1 : 0, messages: [{ seq: 1 }] });
    for (let tries = 0; (await world.epoch(topic)) === epoch && tries < 200; tries += 1)
      await two.heads.read(TENANT, topic);
    await two.rebases.rebase(TENANT, topic, 'missing', NO_EPOCH);
    const healed = await two.heads.read(TENANT, topic);
    expect(healed.stableSeq).toBeGreaterThanOrEqual(1);
    expect(healed.stableSeq).toBe(healed.lastSeq);
    expect(await world.client.exists(world.claimKey(topic, asUserId('2'), 'dead'))).toBe(1);
  });
});

describe('B01: the counter comes back lower', () => {
  it.each(['lost', 'everything lost', 'behind'])('%s: two nodes send at once', async (how) => {
    const topic = await world.group();
    for (let index = 1; index <= 10; index += 1) await send(one, topic, `m${index}`);
    const { lastSeq, inflight, deadlines } = world.keys(topic);
    if (how === 'lost') await world.client.del(lastSeq);
    else if (how === 'everything lost') await world.client.del(lastSeq, inflight, deadlines, world.keys(topic).access);
    else await world.client.hset(lastSeq, 'seq', 4);
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => send(index % 2 === 0 ? one : two, topic, `n${index}`)),
    );
    const seqs = answers.map((answer) => answer.seq);
    expect(new Set(seqs).size).toBe(10);
    expect(Math.min(...seqs)).toBeGreaterThan(10);
    const stored = (await world.rows(topic)).filter((row) => row.status !== 'void');
    expect(stored).toHaveLength(20);
  });
});
