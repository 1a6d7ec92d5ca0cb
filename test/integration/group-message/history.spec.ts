import type {
  HistoryPage,
  HistoryQuery,
  MessageDraft,
} from '../../../src/modules/group-message/group-message.types.js';
import { AppError } from '../../../src/platform/errors/app-error.js';
import { asSeq, asUserId, type Topic } from '../../../src/platform/ids/ids.js';
import { RedisUnavailable } from '../../../src/platform/redis/redis-scripts.js';
import { actor, draft, PipelineWorld, TENANT, type PipelineNode } from '../../support/pipeline.js';
import { until } from '../../support/until.js';
import { claimant, DEADLINE_MS, LIVES } from './claims.js';
import { row } from './rows.js';

let world: PipelineWorld;
let cold: PipelineNode;
let hot: PipelineNode;

beforeAll(async () => {
  world = await PipelineWorld.open();
  const hotWorld = { ...world.env, HOT_MIN_MEMBERS: 1 };
  cold = await world.node();
  hot = world.nodeOn(await world.machine(), hotWorld);
});
afterAll(() => world.close());
afterEach(() => {
  Object.assign(cold.hooks, { script: undefined, statement: undefined, query: undefined });
});

const send = (topic: Topic, id: string, text = id, more: Partial<MessageDraft> = {}): Promise<{ seq: number }> =>
  cold.sends.send(actor('2'), draft(topic, id, text, more));
const page = (
  topic: Topic,
  query: Partial<Record<keyof HistoryQuery, number>>,
  node = cold,
  uid = '1',
): Promise<HistoryPage> => node.history.page(actor(uid), topic, { limit: 10, ...query } as HistoryQuery);
const seqsOf = (read: HistoryPage): number[] => read.messages.map((message) => message.seq);

/** Numbers 1 to 20; 5 to 14 and 20 are void, 3 and 4 were never stored. */
async function fullOfHoles(): Promise<Topic> {
  const topic = await world.group();
  for (const seq of [1, 2, 15, 16, 17, 18, 19]) await cold.writer.append(TENANT, row(topic, seq));
  for (const seq of [5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 20]) await cold.store.tombstone(TENANT, row(topic, seq));
  await cold.rebases.rebase(TENANT, topic, 'missing', -1);
  return topic;
}

/** Follows nextAfterSeq to the end, as a client does. */
async function readForward(
  topic: Topic,
  limit: number,
  node: PipelineNode,
): Promise<{ seqs: number[]; pages: HistoryPage[] }> {
  const pages: HistoryPage[] = [];
  for (let after = 0; pages.length < 50;) {
    const read = await page(topic, { afterSeq: after, limit }, node);
    pages.push(read);
    if (!read.hasMore) break;
    expect(read.nextAfterSeq).toBeGreaterThan(after);
    after = read.nextAfterSeq;
  }
  return { seqs: pages.flatMap(seqsOf), pages };
}

describe.each([
  ['MySQL', (): PipelineNode => cold],
  ['a node with hot sets', (): PipelineNode => hot],
])('B06: pages over holes, from %s', (_name, nodeOf) => {
  it.each([1, 2, 3, 7, 50])('always move forward, %i at a time, and show each message once', async (limit) => {
    const topic = await fullOfHoles();
    const source = nodeOf() === hot ? 'hot' : 'mysql';
    const read = await readForward(topic, limit, nodeOf());
    // What was read from MySQL is filled in; from then on pages come out of Redis.
    const again = await until('pages come from where they should', async () => {
      const next = await readForward(topic, limit, nodeOf());
      return next.pages.every((one) => one.source === source) && next;
    });
    for (const { seqs, pages } of [read, again]) {
      expect(seqs).toEqual([1, 2, 15, 16, 17, 18, 19]);
      expect(pages.at(-1)).toMatchObject({ hasMore: false, stableSeq: 20, lastSeq: 20 });
      for (const one of pages) expect(one.messages.length).toBeLessThanOrEqual(limit);
    }
  });

  it('end at the last row that was looked at, void ones included', async () => {
    const topic = await fullOfHoles();
    expect(await page(topic, { afterSeq: 2, limit: 1 }, nodeOf())).toMatchObject({ nextAfterSeq: 15, hasMore: true });
    expect(await page(topic, { afterSeq: 19 }, nodeOf())).toMatchObject({
      messages: [],
      nextAfterSeq: 20,
      hasMore: false,
    });
    const beyond = await page(topic, { afterSeq: 1_000 }, nodeOf());
    expect(beyond).toMatchObject({ messages: [], nextAfterSeq: 1_000, hasMore: false });
  });

  it('go backward without a void one, and start at the newest', async () => {
    const topic = await fullOfHoles();
    const newest = await page(topic, { limit: 3 }, nodeOf());
    expect(seqsOf(newest)).toEqual([17, 18, 19]);
    expect(newest).toMatchObject({ hasMore: true, stableSeq: 20 });
    const middle = await page(topic, { beforeSeq: 17, limit: 3 }, nodeOf());
    expect(seqsOf(middle)).toEqual([2, 15, 16]);
    const oldest = await page(topic, { beforeSeq: 2, limit: 3 }, nodeOf());
    expect(seqsOf(oldest)).toEqual([1]);
    expect(oldest.hasMore).toBe(false);
    expect(seqsOf(await page(topic, { beforeSeq: 1 }, nodeOf()))).toEqual([]);
  });
});

describe('a page', () => {
  it('takes one bound, not two', async () => {
    const topic = await world.group();
    const refused = await page(topic, { afterSeq: 1, beforeSeq: 5 }).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'VALIDATION_FAILED' });
    const zero = await page(topic, { afterSeq: 0, beforeSeq: 0 }).catch((error: unknown) => error);
    expect(zero).toMatchObject({ code: 'VALIDATION_FAILED' });
  });

  it('ends at 128 KiB, with at least one message, and goes on after it', async () => {
    const topic = await world.group();
    for (let index = 1; index <= 9; index += 1) await send(topic, `m${index}`, '魚'.repeat(7_000));
    const first = await page(topic, { afterSeq: 0, limit: 200 });
    expect(first.hasMore).toBe(true);
    expect(first.messages.length).toBeGreaterThan(1);
    expect(Buffer.byteLength(JSON.stringify(first.messages))).toBeLessThanOrEqual(128 * 1024);
    const { seqs } = await readForward(topic, 200, cold);
    expect(seqs).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect((await page(topic, { limit: 200 })).messages.length).toBeLessThan(9);
  });

  it('is for members only', async () => {
    const topic = await world.group();
    await send(topic, 'm');
    await expect(page(topic, {}, cold, '9')).rejects.toMatchObject({ code: 'NOT_MEMBER' });
    await world.changeMember(topic, asUserId('2'), 'state', 'kicked');
    await world.client.del(world.keys(topic).access);
    await expect(page(topic, { afterSeq: 0 }, cold, '2')).rejects.toMatchObject({ code: 'NOT_MEMBER' });
  });

  it('shows new members only what came after them, when the group wants it so', async () => {
    const topic = await world.group(3);
    for (const id of ['a', 'b', 'c', 'd']) await send(topic, id);
    const id = topic.slice(4);
    await world.sql('UPDATE im_group_settings SET history_for_new_members = 0 WHERE group_id = ?', [id]);
    await world.sql('UPDATE im_group_members SET joined_seq = 2 WHERE group_id = ? AND uid = 3', [id]);
    await world.client.del(world.keys(topic).access);
    for (const node of [cold, hot]) {
      expect(seqsOf(await page(topic, { afterSeq: 0 }, node, '3'))).toEqual([3, 4]);
      expect(seqsOf(await page(topic, {}, node, '3'))).toEqual([3, 4]);
      expect(seqsOf(await page(topic, { beforeSeq: 3 }, node, '3'))).toEqual([]);
      expect(seqsOf(await page(topic, { afterSeq: 0 }, node, '1'))).toEqual([1, 2, 3, 4]);
    }
  });

  it('calls nothing stable above a number that is in flight, and shows what is stored there', async () => {
    const topic = await world.group();
    await send(topic, 'a');
    await cold.redis.admit(claimant(topic, 'slow'), DEADLINE_MS, LIVES);
    await send(topic, 'b');
    expect(await page(topic, { afterSeq: 0 })).toMatchObject({
      messages: [{ seq: 1 }, { seq: 3 }],
      nextAfterSeq: 3,
      stableSeq: 1,
      lastSeq: 3,
      hasMore: false,
    });
  });

  it('goes on from MySQL while Redis is away, and calls stable what this node knows for sure', async () => {
    const topic = await world.group();
    await send(topic, 'a');
    await page(topic, { afterSeq: 0 });
    await send(topic, 'b');
    cold.hooks.script = () => Promise.reject(new RedisUnavailable());
    const read = await page(topic, { afterSeq: 0 });
    expect(seqsOf(read)).toEqual([1, 2]);
    expect(read).toMatchObject({ stableSeq: 1, lastSeq: 2 });
    const stranger = await world.node();
    stranger.hooks.script = () => Promise.reject(new RedisUnavailable());
    expect(await page(topic, { afterSeq: 0 }, stranger)).toMatchObject({ stableSeq: 0, lastSeq: 2 });
  });

  it('is an error, and no hole, when the database fails', async () => {
    const topic = await world.group();
    await send(topic, 'a');
    cold.hooks.query = (sql, run) =>
      sql.includes('im_group_messages') ? Promise.reject(new AppError('STORAGE_UNAVAILABLE')) : run();
    await expect(page(topic, { afterSeq: 0 })).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  });
});

describe('quotes of a hot page', () => {
  const MYSQL = /im_group_messages|im_message_hides/;

  it('come out of the hot set without a query, and the page out of it without those that only MySQL has', async () => {
    const topic = await world.group();
    await send(topic, 'quoted', 'what was said');
    await send(topic, 'quoting', 'look', { head: { quote: 1 } });
    await until('both are hot', async () => (await page(topic, { afterSeq: 0 }, hot)).source === 'hot');
    const queries: string[] = [];
    hot.hooks.query = (sql, run) => {
      if (!MYSQL.test(sql)) return run();
      queries.push(sql);
      return Promise.reject(new AppError('STORAGE_UNAVAILABLE'));
    };
    const whole = await page(topic, { afterSeq: 1 }, hot);
    expect(whole).toMatchObject({ source: 'hot', quotes: [{ seq: 1, text: 'what was said' }] });
    expect(queries).toEqual([]);
    await world.client.zremrangebyscore(world.keys(topic).hot, 1, 1);
    const poorer = await page(topic, { afterSeq: 1 }, hot);
    expect(seqsOf(poorer)).toEqual([2]);
    expect(poorer).toMatchObject({ source: 'hot', quotes: [] });
    expect(queries).toHaveLength(1);
    hot.hooks.query = undefined;
    expect(await page(topic, { afterSeq: 1 }, hot)).toMatchObject({ quotes: [{ seq: 1, text: 'what was said' }] });
  });
});

describe('what is stored comes back byte for byte', () => {
  const TEXTS = [
    '🐟',
    '👨‍👩‍👧‍👦',
    '🏳️‍🌈🇪🇺',
    '👍🏽',
    '𠀀𠮷',
    `a${'\u0301'.repeat(200)}`,
    '\u0000\u001f\\"\'`;--',
    '\u2028\u2029\uFEFF',
    ' x ',
    'é',
    // Rows are written as SQL text, several statements in one round trip.
    '? ?? :name %s',
    "'); DELETE FROM im_group_messages; -- ",
    "\\'); DELETE FROM im_group_messages; -- ",
    'ends with a backslash \\',
    '\u0000\u0008\t\n\r\u001a"\'',
  ];

  it.each(TEXTS)('B53: %j', async (text) => {
    const topic = await world.group();
    const more = { head: { client: { text } } };
    await send(topic, 'm', text, more);
    const [message] = (await page(topic, { afterSeq: 0 })).messages;
    expect(message).toMatchObject({ content: { text }, head: more.head });
    expect(cold.frames.flatMap((frame) => frame.messages).find((told) => told.topic === topic)).toEqual(message);
  });

  it('B10: client ids that differ in case, accent, emoji or an invisible character are two messages', async () => {
    const pairs = [
      ['aB3x', 'Ab3X'],
      ['é', 'e'],
      ['👍', '🎉'],
      ['id', 'id\u200b'],
      ['ß', 'ss'],
      ['\u00c5', 'A\u030a'],
    ];
    for (const [first, second] of pairs) {
      const topic = await world.group();
      const outcomes = [
        await cold.writer.append(TENANT, row(topic, 1, first)),
        await cold.writer.append(TENANT, row(topic, 2, second)),
      ];
      expect(outcomes.map(({ kind }) => kind)).toEqual(['stored', 'stored']);
      for (const [index, id] of [first, second].entries()) {
        const found = await cold.store.findByClientId(TENANT, topic, asUserId('2'), id);
        expect(found).toMatchObject({ seq: index + 1 });
      }
      // Redis keeps them apart as MySQL does.
      expect(world.claimKey(topic, asUserId('2'), first)).not.toBe(world.claimKey(topic, asUserId('2'), second));
    }
  });

  it('B56: ids beyond 2^53 keep their last digits', async () => {
    const topic = await world.group();
    const ids = ['9007199254740993', '9007199254740992', '9223372036854775807'];
    for (const [index, uid] of ids.entries()) {
      await world.sql('INSERT INTO im_group_members (group_id, uid) VALUES (?, ?)', [topic.slice(4), uid]);
      const mentionedUserIds = [asUserId(ids[0]), asUserId(ids[1])];
      await cold.sends.send(actor(uid), draft(topic, `m${index}`, 'x', { mentionedUserIds }));
    }
    await world.sql('UPDATE im_group_messages SET id = 9007199254740993 WHERE topic = ? AND seqid = 1', [topic]);
    const { messages } = await page(topic, { afterSeq: 0 });
    expect(messages.map((message) => message.from)).toEqual(ids);
    expect(messages[0].id).toBe('9007199254740993');
    expect(messages[2].mentionedUserIds).toEqual([ids[0], ids[1]]);
  });

  it('B56: numbers up to 2^53 - 1 count on', async () => {
    const topic = await world.group();
    const high = Number.MAX_SAFE_INTEGER - 1_000;
    await cold.writer.append(TENANT, row(topic, high));
    expect(await send(topic, 'next')).toMatchObject({ seq: high + 1 });
    const { messages, stableSeq } = await page(topic, { afterSeq: high });
    expect(messages).toMatchObject([{ seq: high + 1, clientMsgId: 'next' }]);
    expect(stableSeq).toBe(high + 1);
  });

  it('B05: the order is that of the numbers, and the time is the server’s, whatever a client says', async () => {
    const topic = await world.group();
    const times = [5 * 3_600_000, 0, -365 * 86_400_000, '9e15', 9e15];
    const before = Date.now();
    for (const [index, time] of times.entries()) await send(topic, `m${index}`, 'x', { head: { client: { time } } });
    const { messages } = await page(topic, { afterSeq: 0 });
    expect(messages.map((message) => message.clientMsgId)).toEqual(['m0', 'm1', 'm2', 'm3', 'm4']);
    for (const message of messages) {
      expect(Date.parse(message.createdAt)).toBeGreaterThanOrEqual(before - 1_000);
      expect(Date.parse(message.createdAt)).toBeLessThanOrEqual(Date.now() + 1_000);
    }
    expect(messages[3].head).toEqual({ client: { time: '9e15' } });
  });
});

it('a cursor that starts at the newest page goes on from its stableSeq', async () => {
  const topic = await world.group();
  for (const id of ['a', 'b', 'c']) await send(topic, id);
  const newest = await page(topic, { limit: 2 });
  expect(seqsOf(newest)).toEqual([2, 3]);
  await send(topic, 'd');
  expect(seqsOf(await page(topic, { afterSeq: asSeq(newest.stableSeq) }))).toEqual([4]);
});
