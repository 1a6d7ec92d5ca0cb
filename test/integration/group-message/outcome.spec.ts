import type { AppError } from '../../../src/platform/errors/app-error.js';
import { toAppError } from '../../../src/platform/errors/to-app-error.js';
import type { Topic } from '../../../src/platform/ids/ids.js';
import { CommitUnknown } from '../../../src/platform/mysql/writer-pool.js';
import { actor, draft, PipelineWorld, TENANT, type PipelineNode } from '../../support/pipeline.js';
import type { Statement } from '../../support/pipeline-hooks.js';
import { Holder, insertsMessages } from './rows.js';

let world: PipelineWorld;
let node: PipelineNode;

beforeAll(async () => {
  world = await PipelineWorld.open({ MYSQL_STATEMENT_TIMEOUT_MS: '1500' });
  node = await world.node();
});
afterAll(() => world.close());
afterEach(() => {
  Object.assign(node.hooks, { script: undefined, statement: undefined, query: undefined });
});

/** The answer, or what the edge makes of the error. */
const send = (topic: Topic, id = 'm'): Promise<unknown> =>
  node.sends.send(actor('2'), draft(topic, id)).catch(toAppError);
const storedIds = async (topic: Topic): Promise<(string | null)[]> =>
  (await world.rows(topic)).map((stored) => stored.clientMsgId);

describe('an outcome that nobody knows', () => {
  const loseCommit = (how: (statement: Statement) => Promise<unknown>): void => {
    let lost = false;
    node.hooks.statement = (statement) => {
      if (lost || !insertsMessages(statement)) return statement.run();
      lost = true;
      return how(statement);
    };
  };

  it('is found stored by the tombstone when the COMMIT was carried out', async () => {
    const topic = await world.group();
    loseCommit(async (statement) => {
      await statement.run();
      throw new CommitUnknown({});
    });
    expect(await send(topic)).toMatchObject({ seq: 1, duplicate: false });
    expect(await storedIds(topic)).toEqual(['m']);
  });

  it('is void when it was not, and the sender is told to try again', async () => {
    const topic = await world.group();
    loseCommit(async ({ session }) => {
      session.destroy();
      throw new CommitUnknown({});
    });
    expect(await send(topic)).toMatchObject({ code: 'STORAGE_UNAVAILABLE', retryable: true });
    expect(await world.rows(topic)).toMatchObject([{ seq: 1, status: 'void' }]);
    expect(await send(topic)).toMatchObject({ seq: 2, duplicate: false });
  });

  it('stays in flight while the server may still commit; its deadline ends the epoch', async () => {
    const topic = await world.group();
    let commit = async (): Promise<void> => undefined;
    loseCommit(async (statement) => {
      await statement.writeOnly();
      const { session } = statement;
      const destroy = session.destroy.bind(session);
      commit = () => statement.commitOnly().then(destroy);
      Object.assign(session, { destroy: () => undefined, release: () => undefined, rollback: async () => undefined });
      throw new CommitUnknown({});
    });
    expect(await send(topic)).toMatchObject({ code: 'STORAGE_UNAVAILABLE', retryable: true });
    expect(await node.redis.head(TENANT, topic)).toMatchObject({ stableSeq: 0, lastSeq: 1 });
    expect(await world.rows(topic)).toEqual([]);
    await commit();
    expect(await send(topic)).toMatchObject({ seq: 1, duplicate: true });
    await world.expire(topic);
    expect(await node.sends.send(actor('2'), draft(topic, 'after'))).toMatchObject({ seq: 2 });
    expect(await node.redis.head(TENANT, topic)).toMatchObject({ stableSeq: 2 });
  });

  it.each(['begin', 'statement', 'commit'] as const)('KILL during a %s leaves one row and one answer', async (kind) => {
    const topic = await world.group();
    await node.sends.send(actor('2'), draft(topic, 'first'));
    let killed = false;
    node.hooks.statement = async (statement) => {
      if (killed || (statement.kind !== kind && !(kind === 'statement' && insertsMessages(statement))))
        return statement.run();
      killed = true;
      const answer = statement.run();
      answer.catch(() => undefined);
      await world.sql(`KILL ${statement.connectionId}`);
      return answer;
    };
    const first = await send(topic);
    if (first instanceof Error) expect((first as AppError).retryable).toBe(true);
    const again = (await send(topic)) as { seq: number };
    expect(again.seq).toBeGreaterThan(1);
    expect((await storedIds(topic)).filter((id) => id === 'm')).toHaveLength(1);
  });

  it('a server that does not answer: bounded in time, retryable, for a batch as for one', async () => {
    const topic = await world.group();
    const holder = new Holder(world.info);
    await holder.run('LOCK TABLES im_group_messages WRITE');
    const started = performance.now();
    try {
      const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => send(topic, `m${index}`)));
      for (const answer of answers) expect(answer).toMatchObject({ retryable: true });
      expect(performance.now() - started).toBeLessThan(15_000);
    } finally {
      holder.end();
    }
  });
});
