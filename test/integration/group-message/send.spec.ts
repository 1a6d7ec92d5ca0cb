import { ReplyError } from 'ioredis';
import type { SendAnswer } from '../../../src/modules/group-message/group-message.types.js';
import { AppError } from '../../../src/platform/errors/app-error.js';
import { asUserId, type Topic } from '../../../src/platform/ids/ids.js';
import { RedisUnavailable } from '../../../src/platform/redis/redis-scripts.js';
import { actor, draft, PipelineWorld, type PipelineNode } from '../../support/pipeline.js';
import { until } from '../../support/until.js';
import { countingTopic } from './claims.js';

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

const send = (node: PipelineNode, topic: Topic, id: string, text = id, uid = '2'): Promise<SendAnswer> =>
  node.sends.send(actor(uid), draft(topic, id, text));
const codeOf = async (sending: Promise<unknown>): Promise<string> => {
  const error: unknown = await sending.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof AppError)) throw new Error(`expected a refusal, got ${String(error)}`);
  return error.code;
};
const forget = (topic: Topic, id: string): Promise<number> =>
  world.client.del(world.claimKey(topic, asUserId('2'), id));

describe('a retry', () => {
  it('is answered with the first number and id, on any node, and told once', async () => {
    const topic = await world.group();
    const first = await send(one, topic, 'm');
    expect(first).toMatchObject({ seq: 2 - 1, duplicate: false });
    const before = two.frames.length;
    expect(await send(two, topic, 'm')).toEqual({ ...first, duplicate: true });
    expect(two.frames).toHaveLength(before);
    expect(await world.rows(topic)).toHaveLength(1);
  });

  it.each([
    ['is told again', true],
    ['tells the room only to ask where new members may not read what was sent before them', false],
  ])('that takes a stored message over from a dead node %s', async (_what, openToAll) => {
    const topic = await world.group();
    const first = await send(one, topic, 'm');
    await world.sql('UPDATE im_group_settings SET history_for_new_members = ? WHERE group_id = ?', [
      openToAll ? 1 : 0,
      topic.slice(4),
    ]);
    // As the first node left it when it died between its insert and its settlement.
    const key = world.claimKey(topic, asUserId('2'), 'm');
    const [, , ...rest] = (await world.client.get(key))!.split('|');
    await world.client.set(key, ['pending', 'dead', ...rest].join('|'), 'EX', 120);
    const before = two.told.length;
    expect(await send(two, topic, 'm')).toEqual({ ...first, duplicate: true });
    await until('the void is told', () => two.frames.some(({ topic: of, voids }) => of === topic && voids.length > 0));
    const asks = (): unknown[] => two.told.slice(before).filter(({ event }) => event === 'topic:resync');
    const texts = (): unknown[] =>
      two.frames.flatMap(({ topic: of, messages }) => (of === topic ? messages.map(({ seq }) => seq) : []));
    await until('it is told', () => asks().length + texts().length > 0);
    expect(texts()).toEqual(openToAll ? [1] : []);
    expect(asks()).toEqual(openToAll ? [] : [{ event: 'topic:resync', payload: { topics: [topic] } }]);
  });

  it('is known by MySQL alone when Redis forgot; its fresh number is void', async () => {
    const topic = await world.group();
    const first = await send(one, topic, 'm');
    await forget(topic, 'm');
    expect(await send(two, topic, 'm')).toEqual({ ...first, duplicate: true });
    expect(await world.rows(topic)).toMatchObject([
      { seq: 1, clientMsgId: 'm' },
      { seq: 2, status: 'void', clientMsgId: null, from: '2' },
    ]);
    await until('clients are told of the void', () => two.frames.some((frame) => frame.voids.includes(2 as never)));
    // The counter is not held up by it, and Redis remembers again.
    expect((await two.redis.head(actor('2').tenant, topic)) as object).toMatchObject({ stableSeq: 2 });
    expect(await send(two, topic, 'm')).toEqual({ ...first, duplicate: true });
    expect(await world.rows(topic)).toHaveLength(2);
  });

  it('with another body is refused, whether Redis remembers or not, and leaves the message as it is', async () => {
    const topic = await world.group();
    await send(one, topic, 'm', 'first');
    expect(await codeOf(send(two, topic, 'm', 'second'))).toBe('IDEMPOTENCY_CONFLICT');
    await forget(topic, 'm');
    expect(await codeOf(send(two, topic, 'm', 'second'))).toBe('IDEMPOTENCY_CONFLICT');
    expect((await world.rows(topic)).filter((row) => row.status !== 'void')).toMatchObject([
      { clientMsgId: 'm', content: '{"text":"first"}' },
    ]);
    expect(await send(one, topic, 'after')).toMatchObject({ duplicate: false });
  });

  it('that comes fifty times at once on two nodes stores one row', async () => {
    const topic = await world.group();
    const tries = Array.from({ length: 50 }, (_, index) =>
      send(index % 2 === 0 ? one : two, topic, 'm').catch((error: unknown) => (error as AppError).code),
    );
    const answers = await Promise.all(tries);
    const told = answers.filter((answer) => typeof answer === 'object');
    for (const answer of answers) if (typeof answer === 'string') expect(answer).toBe('IN_PROGRESS');
    expect(new Set(told.map(({ seq, messageId }) => `${seq} ${messageId}`)).size).toBe(1);
    expect(told.filter((answer) => !answer.duplicate)).toHaveLength(1);
    expect((await world.rows(topic)).filter((row) => row.status !== 'void')).toHaveLength(1);
  });

  it('in another case of letters is another message', async () => {
    const topic = await world.group();
    const answers = [await send(one, topic, 'aB3x'), await send(one, topic, 'Ab3X')];
    expect(answers).toMatchObject([
      { seq: 1, duplicate: false },
      { seq: 2, duplicate: false },
    ]);
  });
});

describe('B09: an attempt that does not come to its end', () => {
  it('lets a retry in at once when its insert failed', async () => {
    const topic = await countingTopic(world, one);
    one.hooks.statement = async (statement) => {
      if (statement.kind !== 'commit' || !statement.sql.includes('client_msg_id')) return statement.run();
      throw Object.assign(new Error('Data too long'), { errno: 1406 });
    };
    expect(await codeOf(send(one, topic, 'm'))).toBe('INTERNAL');
    one.hooks.statement = undefined;
    expect(await send(one, topic, 'm')).toMatchObject({ seq: 2, duplicate: false });
    expect(await world.rows(topic)).toMatchObject([
      { seq: 1, status: 'void' },
      { seq: 2, clientMsgId: 'm' },
    ]);
  });

  it('that died between claim and insert is waited for, until its deadline; then a retry takes over', async () => {
    const topic = await countingTopic(world, one);
    const dying = await world.node();
    dying.hooks.statement = () => new Promise(() => undefined);
    void send(dying, topic, 'm');
    await until('it has its number', async () => (await world.client.zcard(world.keys(topic).inflight)) === 1);
    const started = performance.now();
    expect(await codeOf(send(two, topic, 'm'))).toBe('IN_PROGRESS');
    expect(performance.now() - started).toBeGreaterThan(450);
    await world.expire(topic);
    expect(await send(two, topic, 'm')).toMatchObject({ duplicate: false });
    expect((await world.rows(topic)).filter((row) => row.clientMsgId === 'm')).toHaveLength(1);
  });

  it('that died after its insert is answered from MySQL at once, while its number is still in flight', async () => {
    const topic = await countingTopic(world, one);
    one.hooks.script = (name, run) => (name === 'settle' ? new Promise(() => undefined) : run());
    void send(one, topic, 'm');
    await until('it is stored', async () => (await world.rows(topic)).length === 1);
    expect(await send(two, topic, 'm')).toMatchObject({ seq: 1, duplicate: true });
    expect(await world.client.zcard(world.keys(topic).inflight)).toBe(1);
  });

  it('whose deadline passed after its insert is told to everybody by the retry', async () => {
    const topic = await countingTopic(world, one);
    one.hooks.script = (name, run) => (name === 'settle' ? new Promise(() => undefined) : run());
    void send(one, topic, 'm');
    await until('it is stored', async () => (await world.rows(topic)).length === 1);
    await world.expire(topic);
    expect(await send(two, topic, 'm')).toMatchObject({ seq: 1, duplicate: true });
    await until('it is told', () =>
      two.frames.some((frame) => frame.topic === topic && frame.messages.some((message) => message.seq === 1)),
    );
  });

  it('is acknowledged although Redis did not take the settlement', async () => {
    const topic = await countingTopic(world, one);
    one.hooks.script = (name, run) => (name === 'settle' ? Promise.reject(new RedisUnavailable()) : run());
    expect(await send(one, topic, 'm')).toMatchObject({ seq: 1, duplicate: false });
    await until('it is told', () => one.frames.some((frame) => frame.topic === topic));
  });
});

describe('permission that changed after it was cached', () => {
  it('refuses a sender who was muted meanwhile, and keeps his number void', async () => {
    const topic = await countingTopic(world, one);
    await world.changeMember(topic, asUserId('2'), 'muted_until', new Date(Date.now() + 60_000));
    expect(await codeOf(send(one, topic, 'm'))).toBe('MUTED');
    expect(await world.rows(topic)).toMatchObject([{ seq: 1, status: 'void' }]);
    expect(await send(one, topic, 'owner', 'x', '1')).toMatchObject({ seq: 2 });
    expect((await one.redis.head(actor('2').tenant, topic)) as object).toMatchObject({ stableSeq: 2 });
  });

  it('refuses one who was removed, and lets pass who may still send', async () => {
    const topic = await countingTopic(world, one, 3);
    await world.changeMember(topic, asUserId('3'), 'state', 'kicked');
    expect(await codeOf(send(one, topic, 'm', 'm', '3'))).toBe('NOT_MEMBER');
    expect(await send(one, topic, 'm')).toMatchObject({ duplicate: false });
  });

  it('answers a retry of a stored message although its sender is muted since', async () => {
    const topic = await countingTopic(world, one);
    const first = await send(one, topic, 'm');
    await world.changeMember(topic, asUserId('2'), 'muted_until', new Date(Date.now() + 60_000));
    await world.client.del(world.keys(topic).access);
    expect(await send(two, topic, 'm')).toEqual({ ...first, duplicate: true });
    expect(await codeOf(send(two, topic, 'other'))).toBe('MUTED');
  });
});

describe('B02: somebody else holds the next number', () => {
  it('does not stop the group', async () => {
    const topic = await world.group();
    await send(one, topic, 'a');
    await world.sql(
      `INSERT INTO im_group_messages (topic, group_id, seqid, from_user, client_msg_id, digest, created_at, updated_at)
       VALUES (?, ?, 2, 1, 'foreign', REPEAT('x', 32), NOW(3), NOW(3))`,
      [topic, topic.slice(4)],
    );
    const answers = await Promise.all(['b', 'c', 'd'].map((id) => send(one, topic, id)));
    const seqs = answers.map((answer) => answer.seq);
    expect(new Set(seqs).size).toBe(3);
    expect(Math.min(...seqs)).toBeGreaterThan(2);
    expect((await world.rows(topic)).find((row) => row.seq === 2)).toMatchObject({ clientMsgId: 'foreign' });
  });
});

describe('Redis', () => {
  it('that is away: a send fails, retryable, and nothing is stored', async () => {
    const topic = await countingTopic(world, one);
    one.hooks.script = () => Promise.reject(new RedisUnavailable());
    const error = await send(one, topic, 'm').catch((reason: unknown) => reason as AppError);
    expect(error).toMatchObject({ code: 'SEQ_UNAVAILABLE', retryable: true });
    expect(await world.rows(topic)).toEqual([]);
  });

  it('that is full (B03, noeviction): a send fails, retryable', async () => {
    const topic = await countingTopic(world, one);
    // Not the shared server itself: others are being tested on it.
    const full = new ReplyError('OOM command not allowed when used memory > maxmemory.');
    const evalsha = jest.spyOn(one.machine.clients.command, 'evalsha').mockRejectedValue(full);
    try {
      expect(await codeOf(send(one, topic, 'm'))).toBe('SEQ_UNAVAILABLE');
    } finally {
      evalsha.mockRestore();
    }
    expect(await send(one, topic, 'm')).toMatchObject({ duplicate: false });
  });

  it('whose reply to Admit was lost: the same id is sent again and stored once', async () => {
    const topic = await countingTopic(world, one);
    let lost = false;
    one.hooks.script = async (name, run) => {
      const reply = await run();
      if (name !== 'admit' || lost) return reply;
      lost = true;
      throw new RedisUnavailable();
    };
    expect(await codeOf(send(one, topic, 'm'))).toBe('SEQ_UNAVAILABLE');
    await world.expire(topic);
    expect(await send(one, topic, 'm')).toMatchObject({ duplicate: false });
    expect((await world.rows(topic)).filter((row) => row.clientMsgId === 'm')).toHaveLength(1);
  });
});

it('many senders on two nodes at once get distinct numbers, and every ack is a row', async () => {
  const topic = await world.group(5);
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, index) =>
      send(index % 2 === 0 ? one : two, topic, `m${index}`, 'x', String(1 + (index % 5))),
    ),
  );
  const rows = new Map((await world.rows(topic)).map((row) => [row.seq, row]));
  expect(new Set(answers.map((answer) => answer.seq)).size).toBe(200);
  answers.forEach((answer, index) => {
    expect(rows.get(answer.seq)).toMatchObject({ id: answer.messageId, clientMsgId: `m${index}` });
  });
});
