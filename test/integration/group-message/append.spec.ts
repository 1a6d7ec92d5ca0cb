import type { AppendOutcome } from '../../../src/modules/group-message/batch-writer.js';
import type { PendingRow } from '../../../src/modules/group-message/message-row.js';
import { AppError } from '../../../src/platform/errors/app-error.js';
import { asUserId, type Topic } from '../../../src/platform/ids/ids.js';
import { actor, draft, PipelineWorld, TENANT, type PipelineNode } from '../../support/pipeline.js';
import { until } from '../../support/until.js';
import { Holder, insertsMessages, row } from './rows.js';

let world: PipelineWorld;
let node: PipelineNode;

beforeAll(async () => {
  // MySQL looks for lock waits that are over only once a second: a wait of 1 s may take 2.
  world = await PipelineWorld.open({ MYSQL_STATEMENT_TIMEOUT_MS: '3000' });
  node = await world.node();
});
afterAll(() => world.close());
afterEach(() => {
  Object.assign(node.hooks, { script: undefined, statement: undefined, query: undefined });
});

const append = (...rows: PendingRow[]): Promise<AppendOutcome[]> =>
  Promise.all(rows.map((pending) => node.writer.append(TENANT, pending)));
const kinds = async (...rows: PendingRow[]): Promise<string[]> =>
  (await append(...rows)).map((outcome) => outcome.kind);
const storedIds = async (topic: Topic): Promise<(string | null)[]> =>
  (await world.rows(topic)).map((stored) => stored.clientMsgId);

describe('group commit', () => {
  it('stores what was queued together in one transaction, with the ids of its rows', async () => {
    const topic = await world.group();
    let commits = 0;
    node.hooks.statement = (statement) => {
      if (statement.kind === 'commit') commits += 1;
      return statement.run();
    };
    const outcomes = await append(...[1, 2, 3, 4].map((seq) => row(topic, seq)));
    expect(commits).toBe(1);
    const rows = await world.rows(topic);
    expect(outcomes).toEqual(rows.map(({ id }) => ({ kind: 'stored', id })));
    expect(rows.map((stored) => stored.clientMsgId)).toEqual(['m1', 'm2', 'm3', 'm4']);
  });

  it('never fails the neighbours of a bad row', async () => {
    const topic = await world.group();
    const bad = row(topic, 2, 'x'.repeat(65));
    expect(await kinds(row(topic, 1), bad, row(topic, 3))).toEqual(['stored', 'not-stored', 'stored']);
    expect(await storedIds(topic)).toEqual(['m1', 'm3']);
  });

  it('tells for each row of a batch what became of it', async () => {
    const topic = await world.group();
    await append(row(topic, 1, 'a'), row(topic, 2, 'b'));
    const rows = [
      row(topic, 3, 'a'),
      row(topic, 2, 'c'),
      row(topic, 4, 'd'),
      row(topic, 5, 'd'),
      row(topic, 6, 'e', {}, 7),
    ];
    const [again, taken, stored, twice, fenced] = await append(...rows);
    expect(again).toMatchObject({ kind: 'duplicate', stored: { seq: 1 } });
    expect(taken).toEqual({ kind: 'seq-taken' });
    expect(stored).toMatchObject({ kind: 'stored' });
    expect(twice).toMatchObject({ kind: 'duplicate', stored: { seq: 4 } });
    expect(fenced).toEqual({ kind: 'fenced' });
    const ids = new Map((await world.rows(topic)).map(({ seq, id }) => [seq, id]));
    expect(stored).toEqual({ kind: 'stored', id: ids.get(4) });
    expect([...ids.keys()]).toEqual([1, 2, 4]);
  });

  it('takes the same number of the same message for stored, and not that of another body', async () => {
    const topic = await world.group();
    const first = row(topic, 1, 'a');
    const [stored] = await append(first);
    expect(await append(first)).toEqual([stored]);
    const other = row(topic, 1, 'a', { content: { text: 'other' } });
    expect(await append(other)).toMatchObject([{ kind: 'duplicate', stored: { seq: 1 } }]);
  });

  it('turns away more sends of a tenant than may be under way, before anything is numbered', async () => {
    const topic = await world.group();
    const room = Array.from({ length: 5_000 }, () => node.writer.reserve(TENANT, 1));
    const refused = await node.sends.send(actor('2'), draft(topic, 'm')).catch((error: unknown) => error as AppError);
    expect(refused).toMatchObject({ code: 'OVERLOADED', retryable: true });
    expect(await world.client.exists(world.claimKey(topic, asUserId('2'), 'm'))).toBe(0);
    for (const held of room) held.release();
    const big = node.writer.reserve(TENANT, 32 * 1024 * 1024);
    expect(() => node.writer.reserve(TENANT, 1)).toThrow(AppError);
    big.release();
    expect(await node.sends.send(actor('2'), draft(topic, 'm'))).toMatchObject({ duplicate: false });
  });
});

describe('the fence', () => {
  it('never lets a row of another epoch in, in a batch or alone', async () => {
    const topic = await world.group();
    await world.sql('UPDATE im_topic_seq SET epoch = 4 WHERE topic = ?', [topic]);
    expect(await kinds(row(topic, 1, 'old', {}, 3), row(topic, 2, 'now', {}, 4), row(topic, 3, 'new', {}, 5))).toEqual([
      'fenced',
      'stored',
      'fenced',
    ]);
    expect(await storedIds(topic)).toEqual(['now']);
    expect(await node.store.tombstone(TENANT, row(topic, 1, 'old', {}, 3))).toEqual({ kind: 'fenced' });
    expect(await storedIds(topic)).toEqual(['now']);
  });

  it('is read again after a deadlock', async () => {
    const topic = await world.group();
    let begun = 0;
    node.hooks.statement = async (statement) => {
      if (statement.kind === 'begin') begun += 1;
      if (!insertsMessages(statement) || begun > 1) return statement.run();
      await world.sql('SELECT 1');
      statement.session.destroy();
      await world.sql('UPDATE im_topic_seq SET epoch = epoch + 1 WHERE topic = ?', [topic]);
      throw Object.assign(new Error('Deadlock found'), { errno: 1213 });
    };
    expect(await kinds(row(topic, 1))).toEqual(['fenced']);
    expect(begun).toBe(2);
    expect(await storedIds(topic)).toEqual([]);
  });

  it('is read for each row that is tried alone', async () => {
    const topic = await world.group();
    let inserts = 0;
    node.hooks.statement = async (statement) => {
      if (insertsMessages(statement) && (inserts += 1) === 2) {
        // Between the first single row and the second one the epoch ends.
        const answer = await statement.run();
        await world.sql('UPDATE im_topic_seq SET epoch = epoch + 1 WHERE topic = ?', [topic]);
        return answer;
      }
      return statement.run();
    };
    const bad = row(topic, 3, 'x'.repeat(65));
    expect(await kinds(row(topic, 1), row(topic, 2), bad)).toEqual(['stored', 'fenced', 'fenced']);
  });
});

describe('a lock that is held', () => {
  it('by one topic does not fail the others of its batch', async () => {
    const topics = [await world.group(), await world.group(), await world.group(), await world.group()];
    const holder = new Holder(world.info);
    await holder.run('START TRANSACTION');
    await holder.run(`SELECT * FROM im_topic_seq WHERE topic = '${topics[0]}' FOR UPDATE`);
    try {
      expect(await kinds(...topics.map((topic) => row(topic, 1)))).toEqual([
        'not-stored',
        'stored',
        'stored',
        'stored',
      ]);
    } finally {
      holder.end();
    }
    expect(await kinds(row(topics[0], 1))).toEqual(['stored']);
  });

  it('for ever gives a retryable error, and the topic goes on when it is gone', async () => {
    const topic = await world.group();
    await node.sends.send(actor('2'), draft(topic, 'first'));
    const holder = new Holder(world.info);
    await holder.run('START TRANSACTION');
    await holder.run(`SELECT * FROM im_topic_seq WHERE topic = '${topic}' FOR UPDATE`);
    const refused = await node.sends.send(actor('2'), draft(topic, 'm')).catch((error: unknown) => error as AppError);
    expect(refused).toMatchObject({ code: 'STORAGE_UNAVAILABLE', retryable: true });
    holder.end();
    await until('the lock is gone', async () =>
      node.sends.send(actor('2'), draft(topic, 'm')).then(
        () => true,
        () => false,
      ),
    );
    await world.expire(topic);
    expect(await node.sends.send(actor('2'), draft(topic, 'after'))).toMatchObject({ duplicate: false });
  });
});

describe('a tombstone', () => {
  it('says what the number holds', async () => {
    const topic = await world.group();
    await append(row(topic, 1, 'a'));
    const [{ id }] = await world.rows(topic);
    expect(await node.store.tombstone(TENANT, row(topic, 1, 'a'))).toEqual({ kind: 'stored', id });
    expect(await node.store.tombstone(TENANT, row(topic, 1, 'b'))).toEqual({ kind: 'taken' });
    expect(await node.store.tombstone(TENANT, row(topic, 2, 'b'))).toEqual({ kind: 'void' });
    expect(await node.store.tombstone(TENANT, row(topic, 2, 'b'))).toEqual({ kind: 'void' });
    expect(await kinds(row(topic, 2, 'b'))).toEqual(['seq-taken']);
  });

  it.each([true, false])(
    'waits for a transaction that is still open on its number (which commits: %s)',
    async (commits) => {
      const topic = await world.group();
      const holder = new Holder(world.info);
      await holder.run('START TRANSACTION');
      await holder.run(
        `INSERT INTO im_group_messages (topic, group_id, seqid, from_user, client_msg_id, digest, created_at, updated_at)
       VALUES ('${topic}', ${topic.slice(4)}, 1, 2, 'm1', UNHEX('${row(topic, 1).body.digest.toString('hex')}'), NOW(3), NOW(3))`,
      );
      let answered = false;
      const tombstone = node.store.tombstone(TENANT, row(topic, 1)).finally(() => (answered = true));
      await until('the tombstone waits', async () => {
        const running = await world.sql<{ info: string | null }>(
          'SELECT info AS info FROM information_schema.processlist',
        );
        return running.some(({ info }) => info?.includes("'void'") === true);
      });
      expect(answered).toBe(false);
      await holder.run(commits ? 'COMMIT' : 'ROLLBACK');
      expect(await tombstone).toMatchObject({ kind: commits ? 'stored' : 'void' });
      holder.end();
    },
  );
});
